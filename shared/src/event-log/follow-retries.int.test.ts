import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { Partition } from '../plant/position.ts'
import type { Log } from '../runtime/log.ts'
import { delay, systemTime, type Time } from '../runtime/time.ts'
import { createKafka } from './connection.ts'

const WAIT_MS = 20_000
const LONGER_THAN_A_SESSION_MS = 8_000

/** The waits before retries: each lasts until `endWait`. Other waits follow the clock. */
function manualRetries() {
  const [waits, ends]: [number[], (() => void)[]] = [[], []]
  const warn = ({ retryInMs }: { retryInMs: number }, text: string) => {
    if (text.startsWith('records are not applied')) waits.push(retryInMs)
  }
  const after: Time['after'] = (ms, callback) => {
    // The wait follows its warning at once.
    if (ends.length === waits.length) return systemTime.after(ms, callback)
    ends.push(callback)
    return () => {}
  }
  const log = { ...quietLog, debug() {}, info() {}, warn } as unknown as Log
  return { waits, log, time: { ...systemTime, after }, endWait: () => ends.at(-1)?.() }
}

describe('a sink that fails or is slow', () => {
  it('is retried with growing delays; the problem is reported, and other partitions advance', async () => {
    const topic = await openTopic(2)
    const [stuck, other] = [0 as Partition, 1 as Partition]
    const { waits, log, time, endWait } = manualRetries()
    let [applied, isFailing] = [0, true]
    const followed = followLog(topic, {
      ...{ log, time },
      async onRecords(partition, _records, next) {
        if (partition === stuck && isFailing) throw new Error('not now')
        if (partition === other) applied++
        followed.checkpoints.set(partition, next)
        return next
      },
    })
    // One record at a time, so that each is fetched alone.
    async function appendUntil(isEnough: () => boolean): Promise<void> {
      while (!isEnough()) {
        const before = applied
        const [record] = await topic.append(1)
        if (record?.partition === other) await vi.waitFor(() => expect(applied).toBeGreaterThan(before), WAIT_MS)
      }
    }
    await appendUntil(() => waits.length > 0)
    for (const count of [2, 3, 4]) {
      const before = applied
      await appendUntil(() => applied >= before + 5)
      endWait()
      await vi.waitFor(() => expect(waits).toHaveLength(count), WAIT_MS)
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000])
    expect(followed.follower.problems()).toEqual(['partition 0: records are not applied: not now'])

    isFailing = false
    endWait()
    await followed.untilAtEnd()
    expect(followed.follower.problems()).toEqual([])
    isFailing = true
    await appendUntil(() => waits.length > 4)
    endWait()
    await vi.waitFor(() => expect(waits.slice(4)).toEqual([250, 500]), WAIT_MS)
    expect(followed.halts).toEqual([])
  })

  it('may take longer than the session timeout: the follower remains a member of its group', async () => {
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
})

describe('a follower without a reachable Kafka', () => {
  it('retains nothing of the consumers that could not connect', async () => {
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
})
