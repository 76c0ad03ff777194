import { expect, it } from 'vitest'
import { createClock, flushPromises } from '../../../tests/simulation/clock.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { UndecodableError } from '../event-log/undecodable.ts'
import { EntryError } from '../plant/entry.ts'
import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { Claim, LogRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { TableStores } from './table.ts'
import { createTableWriter } from './table-writer.ts'

const [P0, P1] = [0, 1] as [Partition, Partition]
const SOON_MS = 1_000
const STEP_MS = 20

/** The log has one claim at each offset, and the id of its plant is the offset. */
const recordAt = (offset: number): LogRecord & { claim: Claim } => {
  const eventId = `00000000-0000-4000-8000-${String(offset).padStart(12, '0')}` as EventId
  const claim = { id: BigInt(offset) as PlantId, eventId, offset: offset as Offset, plant: plantWith({ name: 'aloe' }) }
  return { offset: offset as Offset, claim }
}
const checkpointAt = (offset: number): Checkpoint => (offset < 0 ? BEFORE_LOG : recordAt(offset).claim)
const recordsOf = (from: number, end: number) => Array.from({ length: end - from }, (_, n) => recordAt(from + n))

type Channel = Parameters<TableStores['appendEach']>[1]
type OnRecords = Parameters<TableStores['readLog']>[1]

type Inputs = {
  /** Called before the latest row of a partition of the table is read, which fails if this throws. */
  beforeLatestRows?: (partition: Partition) => unknown
  /** Called before a look-up in the read model, which fails if this does, and finds the EntryError that it returns. */
  beforeLookUp?: (partition: Partition) => unknown
  /** Called before rows get into a partition of the table, which refuses them if this throws. */
  beforeAppend?: (partition: Partition, channel: Channel) => unknown
  latestRows?: TableStores['latestRows']
  readLog?: TableStores['readLog']
  limits?: NonNullable<Parameters<typeof createTableWriter>[0]['limits']>
}

/** A writer of an empty table; the test is the log, the read model and the clock. */
function openWriter({ beforeLatestRows, beforeLookUp, beforeAppend, ...inputs }: Inputs = {}) {
  const clock = createClock()
  /** The offsets of the rows of each partition. */
  const rows: [number[], number[]] = [[], []]
  const reached = [-1, -1]
  const writer = createTableWriter({
    ...{ source: '/plants', log: quietLog, readLog: readAll },
    time: clock.timeOf({ name: 'projector', alive: true, redis: { partitions: [] } as never }),
    readModel: {
      lookUpEach: (requests) =>
        requests.map(async ({ partition, ids }) => {
          const found = await beforeLookUp?.(partition)
          const entries = ids.map((id) => (found instanceof EntryError ? found : recordAt(Number(id)).claim))
          return { checkpoint: reached[partition] as Offset, entries }
        }),
    },
    async latestRows(partitions) {
      await Promise.all(partitions.map((partition) => beforeLatestRows?.(partition)))
      return new Map(partitions.map((partition) => [partition, undefined]))
    },
    // Each partition has another leader.
    leaderOf: Number,
    async appendEach(records, channel) {
      const append = async ([partition, some]: [Partition, typeof records]) => {
        await beforeAppend?.(partition, channel)
        rows[partition]?.push(...some.map(({ key }) => Number(String(key))))
      }
      const failures = new Map<Partition, Error>()
      for (const each of Map.groupBy(records, ({ partition }) => partition))
        await append(each).catch((error) => failures.set(each[0], error))
      return failures
    },
    ...inputs,
  })
  return {
    ...{ writer, rows },
    async pass(ms = SOON_MS): Promise<void> {
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        await flushPromises()
        clock.advance(STEP_MS)
      }
      await flushPromises()
    },
    /** Assigns both partitions, which the read model has up to these offsets. */
    follow(...offsets: [number, number]): void {
      for (const [partition, offset] of offsets.entries()) reached[partition] = offset
      writer.follow(new Map(offsets.map((offset, partition) => [partition as Partition, checkpointAt(offset)])))
    },
    /** The read model applies the next records of a partition. */
    apply(partition: Partition, count: number): void {
      const from = reached[partition] as number
      reached[partition] = from + count
      const records = recordsOf(from + 1, from + 1 + count)
      writer.applied(partition, { from: checkpointAt(from), records, next: checkpointAt(from + count) })
    },
  }
}

const readAll: TableStores['readLog'] = async (ranges, onRecords) => {
  for (const [partition, { from, end }] of ranges)
    await onRecords(partition, recordsOf(from.offset + 1, end), checkpointAt(end - 1))
}

const offsets = (end: number) => Array.from({ length: end }, (_, offset) => offset)

const never = () => Promise.withResolvers<void>().promise

it.each<[string, Inputs, number]>([
  ['a range of the log that cannot be read', { readLog: never }, 1_000],
  ['a leader that does not respond', { beforeAppend: (partition) => (partition === P1 ? never() : undefined) }, -1],
])('%s delays the rows of its partition alone', async (_what, inputs, reached) => {
  const { follow, apply, pass, rows } = openWriter(inputs)
  follow(-1, reached)
  await pass()
  for (let n = 0; n < 3; n++) {
    apply(P0, 1)
    apply(P1, 1)
    await pass(100)
  }
  expect(rows).toEqual([offsets(3), []])
})

type Fault = (partition: Partition, channel?: Channel) => Promise<unknown>

/** Each refusal may take until it times out, and delay what else its channel sends to the leader. */
const refuse: Fault = async (_, channel) => {
  throw new Error(channel === 'suspect' ? 'too few in-sync replicas' : 'others were delayed')
}
const undecodable = new UndecodableError({ partition: P1, offset: 7 as Offset })

it.each<[string, keyof Inputs, Fault, string]>([
  ['a failed look-up', 'beforeLookUp', () => Promise.reject(new Error('the slot moves')), 'the slot moves'],
  ['an odd entry', 'beforeLookUp', async () => new EntryError('it is odd'), 'it is odd: run plantctl rebuild'],
  ['a refusal of rows', 'beforeAppend', refuse, 'too few in-sync replicas'],
  ['an undecodable batch', 'beforeLatestRows', () => Promise.reject(undecodable), '.* from offset 7 on'],
])('%s delays the rows of its partition alone, and they follow in order, each once', async (_, where, fault, why) => {
  let fails = true
  const faulty: Fault = async (partition, channel) => fails && partition === P1 && fault(partition, channel)
  const { writer, follow, apply, pass, rows } = openWriter({ [where]: faulty })
  follow(-1, 9)
  for (let n = 0; n < 10; n++) {
    await pass()
    apply(P0, 1)
    apply(P1, 1)
    await pass(100)
    expect(rows).toEqual([offsets(n + 1), []])
  }
  const problem = expect.stringMatching(`the table is not written in partition 1: ${why}`)
  expect([writer.waiting(), writer.problems()]).toEqual([1, [problem]])
  fails = false
  await pass(10_000)
  expect([rows, writer.problems()]).toEqual([[offsets(10), offsets(20)], []])
})

it('a failed append repeats none of the rows that were acknowledged before it', async () => {
  let appends = 0
  const { follow, pass, rows } = openWriter({
    limits: { maxQueuedBytes: 3_000, maxLookedUpClaims: 10 },
    beforeAppend() {
      if (++appends === 3) throw new Error('the leader has changed')
    },
  })
  follow(49, -1)
  await pass(10_000)
  expect(rows).toEqual([offsets(50), []])
})

it('counts the partitions that wait, also while their latest rows cannot be read', async () => {
  let led: Partition[] | undefined
  const { writer, follow, pass, rows } = openWriter({
    async latestRows() {
      if (led === undefined) throw new PreconditionError('the table was written from another log', 'another-log')
      return new Map(led.map((partition) => [partition, undefined]))
    },
  })
  follow(9, 9)
  await pass()
  expect([writer.waiting(), rows]).toEqual([2, [[], []]])
  led = [P1]
  await pass(10_000)
  expect([writer.waiting(), rows]).toEqual([1, [[], offsets(10)]])
  led = [P0]
  await pass(10_000)
  expect([writer.waiting(), rows]).toEqual([0, [offsets(10), offsets(10)]])
})

it('a partition that is assigned anew while it is caught up gets no row before those before it', async () => {
  const readings: OnRecords[] = []
  const { writer, follow, pass, rows } = openWriter({
    readLog(_ranges, onRecords) {
      readings.push(onRecords)
      return never()
    },
  })
  follow(-1, 9)
  await pass()
  writer.follow(new Map())
  follow(-1, 9)
  await pass()
  const [former, latter] = readings
  await former?.(P1, recordsOf(5, 8), checkpointAt(7))
  expect(rows).toEqual([[], []])
  await latter?.(P1, recordsOf(0, 10), checkpointAt(9))
  expect(rows).toEqual([[], offsets(10)])
})

it('the queue of a partition that waits leaves room for others', async () => {
  const ranges: Partition[] = []
  const { follow, apply, pass, rows } = openWriter({
    limits: { maxQueuedBytes: 3_000, maxLookedUpClaims: 500 },
    async beforeLookUp(partition) {
      if (partition === P1) throw new Error('the slot moves')
    },
    readLog(wanted, ...rest) {
      ranges.push(...wanted.keys())
      return readAll(wanted, ...rest)
    },
  })
  follow(-1, -1)
  for (let n = 0; n < 30; n++) {
    apply(P1, 1)
    await pass(100)
  }
  apply(P0, 5)
  await pass()
  expect(rows).toEqual([offsets(5), []])
  expect(ranges).not.toContain(P0)
})
