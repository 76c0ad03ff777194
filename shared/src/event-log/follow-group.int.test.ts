import { expect, inject, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { Log } from '../runtime/log.ts'
import { delay, systemTime } from '../runtime/time.ts'
import { createKafka } from './connection.ts'

const PARTITIONS = 4
const WAIT_MS = 30_000
const LONGER_THAN_A_SESSION_MS = 8_000

it('a sink may take longer than the session timeout: the follower remains a member of its group', async () => {
  const topic = await openTopic(1)
  await topic.append(5)
  const calls: number[] = []
  const warnings: string[] = []
  const warn = (_: unknown, text: string) => void warnings.push(text)
  const log = { ...quietLog, debug() {}, info() {}, warn } as unknown as Log
  const kafka = createKafka(inject('kafkaBrokers').split(','), 'test', log)
  const followed = followLog(
    { ...topic, kafka },
    {
      async onRecords(partition, records, next) {
        calls.push(records.length)
        if (calls.length === 1) await delay(systemTime, LONGER_THAN_A_SESSION_MS)
        followed.checkpoints.set(partition, next)
        return next
      },
    },
  )
  await followed.untilAtEnd()
  await topic.append(1)
  await followed.untilAtEnd()
  expect(calls).toEqual([5, 1])
  expect(warnings.filter((text) => /not aware of this member|rebalancing/.test(text))).toEqual([])
})

const active = (kind: 'TCPSocketWrap' | 'Timeout') =>
  process.getActiveResourcesInfo().filter((resource) => resource === kind).length

it.each([
  ['a member of the group', PARTITIONS],
  ['a follower that joins it', undefined],
])('%s leaves no connection and no timer when it is closed', async (_what, assigned) => {
  const topic = await openTopic(PARTITIONS)
  await topic.append(10)
  const [connections, timers] = [active('TCPSocketWrap'), active('Timeout')]
  const { follower } = followLog(topic)
  await vi.waitFor(() => expect(follower.assigned()?.size).toBe(assigned), WAIT_MS)
  if (assigned !== undefined) expect(active('TCPSocketWrap')).toBeGreaterThan(connections)
  await follower.close()
  // Sockets need a moment to close. The wait itself uses timers, so timers are counted after it.
  await vi.waitFor(() => expect(active('TCPSocketWrap')).toBeLessThanOrEqual(connections), WAIT_MS)
  expect(active('Timeout')).toBeLessThanOrEqual(timers)
  expect(follower.assigned()).toBeUndefined()
})
