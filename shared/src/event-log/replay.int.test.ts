import { expect, it } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { TestTopic } from '../../../tests/support/topic.ts'
import { type LogRecord, recordReader } from '../plant/plant-created.ts'
import { allPartitions, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { withAdmin } from './connection.ts'
import { NO_PROGRESS_MS, type Range, type ReplayOptions, replay } from './replay.ts'
import { checkTopic } from './topic.ts'

const PARTITIONS = 3
/** The interval at which a replay checks its progress. */
const WATCH_EVERY_MS = 1_000

async function openLog(events: number) {
  const topic = await openTopic(PARTITIONS)
  await topic.append(events)
  const { ends } = await checkTopic(topic.kafka, topic)
  return { topic, ends }
}

const wholeLog = (ends: readonly Offset[]) =>
  new Map(allPartitions(PARTITIONS).map((p): [Partition, Range] => [p, { from: BEFORE_LOG, end: ends[p] as Offset }]))

/** Replays into memory: the records and the last checkpoint of each partition. */
async function read(topic: TestTopic, ranges: Map<Partition, Range>, options: Partial<ReplayOptions<LogRecord>> = {}) {
  const records = new Map<Partition, LogRecord[]>()
  const reached = new Map<Partition, Checkpoint>()
  await replay({
    ...{ ...topic, ranges, log: quietLog, time: systemTime, read: recordReader(PARTITIONS) },
    onRecords(partition, some, checkpoint) {
      records.set(partition, [...(records.get(partition) ?? []), ...some])
      reached.set(partition, checkpoint)
    },
    ...options,
  })
  const offsets = new Map([...records].map(([partition, all]) => [partition, all.map(({ offset }) => offset)]))
  return { records, offsets, reached }
}

const span = (from: number, end: number) => Array.from({ length: end - from }, (_, n) => from + n)

it('a replay reads each record of its ranges once, in the order of its partition, ends, and deletes its group', async () => {
  const { topic, ends } = await openLog(500)
  const [first, , third] = allPartitions(PARTITIONS) as [Partition, Partition, Partition]
  const end = offsetOf((ends[third] as Offset) - 5)
  const ranges = new Map<Partition, Range>([
    [first, { from: { offset: offsetOf(9), eventId: '' }, end: offsetOf(11) }],
    [third, { from: BEFORE_LOG, end }],
  ])
  const { offsets, records, reached } = await read(topic, ranges)
  expect([offsets.size, offsets.get(first), offsets.get(third)]).toEqual([2, [10], span(0, end)])
  expect(reached.get(first)?.offset).toBe(10)
  expect(reached.get(third)).toEqual(checkpointAt(offsetOf(end - 1), records.get(third) ?? []))
  const { groups } = await withAdmin(topic.kafka, (admin) => admin.listGroups())
  expect(groups.filter(({ groupId }) => groupId.startsWith(topic.topic))).toEqual([])
})

it('a replay rejects with the reason of its signal', async () => {
  const { topic } = await openLog(10)
  const aborting = new AbortController()
  // The ranges reach beyond the end of the log, so the replay waits.
  const reading = read(topic, wholeLog([100, 100, 100] as Offset[]), { signal: aborting.signal })
  aborting.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
})

it('a replay does not take a slow onRecords for a lack of progress', async () => {
  const { topic, ends } = await openLog(300)
  let [isCalled, watches] = [false, 0]
  const time: Time = {
    now: systemTime.now,
    after(ms, callback) {
      if (ms === WATCH_EVERY_MS) watches++
      return systemTime.after(isCalled && ms === WATCH_EVERY_MS ? 1 : ms, callback)
    },
  }
  await read(topic, wholeLog(ends), {
    time,
    async onRecords() {
      isCalled = true
      const before = watches
      await eventually(() => expect(watches).toBeGreaterThan(before + (2 * NO_PROGRESS_MS) / WATCH_EVERY_MS))
      isCalled = false
    },
  })
  expect(watches).toBeGreaterThan(0)
})
