import type { Kafka } from 'kafkajs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createThrowawayGroups } from './groups.ts'

it('a Kafka that hangs holds nobody up that has no more use for a group', async () => {
  onTestFinished(fakeTimers())
  const kafka = { admin: () => ({ connect: () => new Promise(() => {}) }) } as unknown as Kafka
  const { groupId, deleteAll } = createThrowawayGroups(kafka, 'plants-replay', quietLog)
  groupId()
  const deleted = deleteAll()
  await vi.advanceTimersByTimeAsync(5_000)
  await expect(deleted).resolves.toBeUndefined()
})
