import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { type GenerationState, generationState } from '@plant-store/shared/read-model/state.ts'
import { assess } from '@plant-store/shared/status/assess.ts'
import type { PartitionStatus, StoreStatus } from '@plant-store/shared/status/read-status.ts'
import { statusJson } from '@plant-store/shared/status/status-json.ts'
import { expect, it } from 'vitest'
import { createPaint, widthOf } from '../terminal/layout.ts'
import { statusLines } from './format-status.ts'

const NAME = '0123abcd-0000-4000-8000-000000000000'
/** The state of a generation of 5 plants, as Redis returns it: names, meta, sizes, times to live. */
const stateAt = (offset: number | string, changes: Partial<GenerationState> = {}): GenerationState => ({
  ...generationState([NAME, NAME, '', offset, '', 1, 12, 5, 1, 0, '', 5, 5, 0, -1, -2, -1, -1, -1, -2].map(String)),
  ...changes,
})

const memberOf = (...partitions: Partition[]) => ({
  ...{ id: '0123abcd', clientId: 'plant-store-projector', host: '127.0.0.1', partitions },
})

/** A store of so many partitions, which is well but for these changes. */
function storeOf(count: number, changes: Partial<StoreStatus> = {}): StoreStatus {
  const members = [memberOf(...allPartitions(count))]
  return {
    topic: 'plants',
    partitions: allPartitions(count).map((partition) => ({
      ...{ partition, isRead: true, end: 7 as Offset, live: stateAt(6, { partitions: count }) },
      ...{ parkedReasons: new Map(), filling: undefined, leftovers: [], bytes: 1_000 },
    })),
    readers: {
      ...{ projectorState: 'Stable', undecodable: [] },
      ...{ projectors: members, apis: members, replays: [], rebuilds: [] },
    },
    ...{ broken: [], table: undefined, warnings: [], openTransactions: [], strangeKeys: [] },
    ...changes,
  }
}

const isPartition3 = (partition: number): boolean => partition === 3
/** A store of so many partitions with these changes of some of them. */
function storeWith(changes: Partial<PartitionStatus>, isChanged = isPartition3, count = 12) {
  const { partitions, ...store } = storeOf(count)
  return { ...store, partitions: partitions.map((one) => (isChanged(one.partition) ? { ...one, ...changes } : one)) }
}

const storeUpTo = (end: number) => storeWith({ end: end as Offset })
const liveWith = (changes: Partial<GenerationState>) => storeWith({ live: stateAt(6, changes) })
const parkedFor = (parked: number, ...parkedReasons: [reason: number, count: number][]) =>
  storeWith({
    live: stateAt(6, { parked, sizes: { plants: 5, order: 5, parked } }),
    parkedReasons: new Map(parkedReasons),
  })
const readersWith = (changes: Partial<StoreStatus['readers']>) =>
  storeOf(12, { readers: { ...storeOf(12).readers, ...changes } })
const undecodableAt = (offset: number) =>
  readersWith({ undecodable: [{ partition: 3 as Partition, offset: offset as Offset }] })

it('a store that is read and projected is well', () => {
  expect(assess(storeOf(12))).toEqual({ problems: [], notices: [] })
  // A projector has passed the batch, and commits it soon.
  expect(assess(undecodableAt(6)).problems).toEqual([])
  // A small lag is normal after a write.
  expect(assess(storeUpTo(500)).problems).toEqual([])
})

it.each<[RegExp, StoreStatus]>([
  [/^set retention.ms to -1$/, storeOf(12, { broken: ['set retention.ms to -1'] })],
  [/no projector is in the consumer group.*If one runs, Kafka has expelled it/, readersWith({ projectors: [] })],
  [/no projector reads partitions 10-11/, readersWith({ projectors: [memberOf(...allPartitions(10))] })],
  [
    /no projector reads partition 11: .* no other program is in their group/,
    readersWith({
      projectors: [memberOf(...allPartitions(11)), { ...memberOf(11 as Partition), clientId: 'console' }],
    }),
  ],
  [/^partition 3 cannot be read from offset 7 on: .*another replica.*backup/, undecodableAt(7)],
  [/10,001 records behind the log.* or some use another Redis/, storeUpTo(10_008)],
  [/partition 3: another log.*passed offset 6, but the log ends before offset 6/, storeUpTo(6)],
  [/newer release/, liveWith({ fold: 2 })],
  [/topic of 6 partitions/, liveWith({ partitions: 6 })],
  [/of partition 3 is gone/, storeWith({ live: stateAt('') })],
  [/partition 3: .*checkpoint .*plantctl verify/, storeWith({ live: stateAt('abc') })],
  [/partition 3: .*the counts are not those /, liveWith({ sizes: { plants: 4, order: 5, parked: 0 } })],
  [/partition 3: keys of the read model expire/, liveWith({ ttlMs: { ...stateAt(6).ttlMs, order: 0 } })],
])('a problem is %s', (words, store) => {
  const { problems } = assess(store)
  expect(problems).toEqual([expect.stringMatching(words)])
  expect(statusJson(store)).toMatchObject({ well: false, problems })
})

const rebuilding = readersWith({ rebuilds: storeOf(12).readers.apis }).readers

it.each<[RegExp, StoreStatus]>([
  [/no api is running/, readersWith({ apis: [] })],
  [/rebalancing: .* one that is down/, readersWith({ projectorState: 'PreparingRebalance', projectors: [memberOf()] })],
  [/interrupted while it filled partition 3: plantctl rebuild/, storeWith({ filling: stateAt(2) })],
  [/a rebuild is running: it fills partition 3/, { ...storeWith({ filling: stateAt(2) }), readers: rebuilding }],
  [/leftover generations of partition 3/, storeWith({ leftovers: ['old'] })],
  [/4,000 records parked: .*; at least 1,000 times: its key is not/, parkedFor(4_000, [PARKED.badKey, 1_000])],
  [
    /3 records parked: plantctl parked list shows where; 2 times: its ce_type .*; 1 time: its key is not an id/,
    parkedFor(3, [PARKED.badKey, 1], [PARKED.otherType, 2]),
  ],
  [/1 keys.*such as "\{plants:3\}:\\u001b\[31m"/, storeOf(12, { strangeKeys: ['{plants:3}:\x1b[31m'] })],
  [/1 of 3 replicas/, storeOf(12, { warnings: ['1 of 3 replicas'] })],
])('a notice is %s', (words, store) => {
  expect(assess(store)).toEqual({ problems: [], notices: [expect.stringMatching(words)] })
})

const lines = (store: StoreStatus, { columns = Number.POSITIVE_INFINITY, all = false } = {}) =>
  statusLines(statusJson(store), { paint: createPaint(false), columns, all })

it('the output has a summary, totals, readers of which those of one host are told apart, and each partition', () => {
  const [one] = storeOf(12).readers.projectors as [StoreStatus['readers']['projectors'][number]]
  const { readers } = readersWith({ projectors: [one, { ...one, id: 'fedc4321', partitions: [] }] })
  expect(lines({ ...storeUpTo(9), readers, warnings: ['a setting'] })).toEqual(
    expect.arrayContaining([
      'No problems, 1 notice.',
      'plants: 12 partitions, 86 offsets, read model 2 behind',
      '  60 plants, 12 void, 0 parked, 12.0 kB in Redis',
      'Projectors: 2',
      '  plant-store-projector 0123abcd at 127.0.0.1: all partitions',
      '  plant-store-projector fedc4321 at 127.0.0.1: no partitions yet',
      `        3        9           6    2${'5'.padStart('  plants'.length)}      1       0  1.0 kB  0123abcd`,
    ]),
  )
})

it('the output escapes what other programs have named', () => {
  const apis = [{ ...memberOf(), clientId: 'x\x1b[2J\u202e', partitions: undefined }]
  const { readers } = readersWith({ apis })
  const shown = lines({ ...liveWith({ live: '\x1b[2J', partitions: 12 }), readers }).join('\n')
  expect(shown).toContain('  x\\u001b[2J\\u202e at 127.0.0.1: unreadable: another program')
  expect(shown).toMatch(/3 .* \\u001b\[2J$/m)
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

it.each([40, 60, 80, 120])('no line of the output is wider than a terminal of %d columns', (columns) => {
  const changed = storeWith({ end: 10_008 as Offset, leftovers: ['old'] })
  const store = { ...changed, warnings: ['a warning of many words '.repeat(9).trim()] }
  expect(Math.max(...lines(store, { columns }).map(widthOf))).toBeLessThanOrEqual(columns)
  expect(lines(store, { columns })).toContainEqual(expect.stringMatching(/^ *partition .*lag( |$)/))
})

it('of 1,000 partitions those that stand out are shown, or with --all every one', () => {
  expect(lines(storeOf(1_000)).at(-1)).toBe('1,000 more partitions (--all shows them)')
  const rowsOf = (isBehind: (partition: number) => boolean, all = false) =>
    lines(storeWith({ end: 8 as Offset }, isBehind, 1_000), { all }).filter((line) => /^ +\d+ [^,]*$/.test(line))
  expect(rowsOf(() => false)).toEqual([])
  expect(rowsOf((partition) => partition % 100 === 7)).toHaveLength(10)
  expect(rowsOf(() => true)).toHaveLength(24)
  expect(rowsOf(() => true, true)).toHaveLength(1_000)
})

it('JSON has null for unknown values', () => {
  const live = stateAt(0, { live: '', checkpoint: undefined })
  const json = JSON.parse(JSON.stringify(statusJson(storeWith({ end: undefined, live }))))
  expect(json.partitions[3]).toMatchObject({ partition: 3, end: null, checkpoint: -1, lag: null, generation: null })
  expect(json.totals).toMatchObject({ offsets: null, lag: null })
})
