import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { Log } from '../runtime/log.ts'
import { delay, systemTime } from '../runtime/time.ts'
import { createKafka } from './connection.ts'

const WAIT_MS = 20_000
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

it('a follower without a reachable Kafka retains nothing of the consumers that could not connect', async () => {
  const [added, removed] = [
    vi.spyOn(AbortSignal.prototype, 'addEventListener'),
    vi.spyOn(AbortSignal.prototype, 'removeEventListener'),
  ]
  onTestFinished(() => {
    added.mockRestore()
    removed.mockRestore()
  })
  const kafka = createImpatientKafka('127.0.0.1:1')
  let attempts = 0
  followLog(
    { kafka, topic: 'none', partitions: 1 },
    {
      time: { ...systemTime, after: (_ms, callback) => systemTime.after(1, callback) },
      groupId: () => `none-${++attempts}`,
    },
  )
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(5), WAIT_MS)
  expect(added.mock.calls.length - removed.mock.calls.length).toBeLessThan(5)
})
