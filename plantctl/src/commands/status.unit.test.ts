import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { type GenerationState, generationState } from '@plant-store/shared/read-model/state.ts'
import { assess } from '@plant-store/shared/status/assess.ts'
import type { PartitionStatus, StoreStatus } from '@plant-store/shared/status/read-status.ts'
import { statusJson } from '@plant-store/shared/status/status-json.ts'
import { describe, expect, it } from 'vitest'
import { createPaint, widthOf } from '../terminal/layout.ts'
import { statusLines } from './format-status.ts'

const NAME = '0123abcd-0000-4000-8000-000000000000'
/** The state of a generation of 5 plants, as Redis returns it: names, meta, sizes, times to live. */
const stateAt = (offset: number | string, changes: Partial<GenerationState> = {}): GenerationState => ({
  ...generationState([NAME, NAME, '', offset, '', 1, 12, 5, 1, 0, '', 5, 5, 0, -1, -2, -1, -1, -1, -2].map(String)),
  ...changes,
})

const partitionAt = (partition: number, changes: Partial<PartitionStatus> = {}): PartitionStatus => ({
  partition: partition as Partition,
  isRead: true,
  end: 7 as Offset,
  live: stateAt(6),
  parkedReasons: new Map(),
  filling: undefined,
  leftovers: [],
  bytes: 1_000,
  ...changes,
})

function storeOf(count: number, changes: Partial<StoreStatus> = {}): StoreStatus {
  const member = {
    id: '0123abcd',
    clientId: 'plant-store-projector',
    host: '127.0.0.1',
    partitions: allPartitions(count),
  }
  return {
    topic: 'plants',
    partitions: allPartitions(count).map((partition) =>
      partitionAt(partition, { live: stateAt(6, { partitions: count }) }),
    ),
    readers: {
      ...{ projectorState: 'Stable', undecodable: [] },
      ...{ projectors: [member], apis: [member], replays: [], rebuilds: [] },
    },
    broken: [],
    table: undefined,
    warnings: [],
    openTransactions: [],
    strangeKeys: [],
    ...changes,
  }
}

/** A store of 12 partitions, one of them changed. */
function storeWith(changes: Partial<PartitionStatus>): StoreStatus {
  const store = storeOf(12)
  return {
    ...store,
    partitions: store.partitions.map((one) => (one.partition === 3 ? { ...one, ...changes } : one)),
  }
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
const memberOf = (...partitions: Partition[]) => ({ id: '', clientId: 'plant-store-projector', host: 'h', partitions })
const undecodableAt = (offset: number) =>
  readersWith({ undecodable: [{ partition: 3 as Partition, offset: offset as Offset }] })

describe('the assessment', () => {
  it('finds no problem in a store that is read and projected', () => {
    expect(assess(storeOf(12))).toEqual({ problems: [], notices: [] })
    // A projector has passed the batch, and commits it soon.
    expect(assess(undecodableAt(6)).problems).toEqual([])
    // A small lag is normal after a write.
    expect(assess(storeUpTo(500)).problems).toEqual([])
  })

  it.each<[string, StoreStatus, RegExp]>([
    ['a precondition is broken', storeOf(12, { broken: ['set retention.ms to -1'] }), /^set retention.ms to -1$/],
    [
      'no projector is running',
      readersWith({ projectors: [] }),
      /no projector is in the consumer group.*npm run start:projector.*If one runs, Kafka has expelled it/,
    ],
    [
      'a partition has no projector',
      readersWith({ projectors: [memberOf(...allPartitions(10))] }),
      /no projector reads partitions 10-11/,
    ],
    [
      'another program is in the group',
      readersWith({
        projectors: [memberOf(...allPartitions(11)), { ...memberOf(11 as Partition), clientId: 'console' }],
      }),
      /no projector reads partition 11: .* no other program is in their group/,
    ],
    [
      'a batch cannot be decoded',
      undecodableAt(7),
      /^partition 3 cannot be read from offset 7 on: .*another replica.*backup/,
    ],
    ['the read model is far behind', storeUpTo(10_008), /10,001 records behind the log/],
    [
      'the log is another log',
      storeUpTo(6),
      /partition 3: another log.*passed offset 6, but the log ends before offset 6/,
    ],
    ['a newer release has folded', liveWith({ fold: 2 }), /newer release/],
    ['the topic had another number of partitions', liveWith({ partitions: 6 }), /topic of 6 partitions/],
    ['only the live pointer is left', storeWith({ live: stateAt('') }), /of partition 3 is gone/],
    ['a checkpoint is no offset', storeWith({ live: stateAt('abc') }), /partition 3: .*checkpoint .*plantctl verify/],
    [
      'plants were removed',
      liveWith({ sizes: { plants: 4, order: 5, parked: 0 } }),
      /partition 3: .*the counts are not those .*plantctl verify/,
    ],
    [
      'keys expire',
      liveWith({ ttlMs: { ...stateAt(6).ttlMs, order: 0 } }),
      /partition 3: keys of the read model expire/,
    ],
  ])('reports a problem when %s', (_what, store, words) => {
    const { problems } = assess(store)
    expect(problems).toEqual([expect.stringMatching(words)])
    expect(statusJson(store)).toMatchObject({ well: false, problems })
  })

  it.each<[string, StoreStatus, RegExp]>([
    ['no api is running', readersWith({ apis: [] }), /no api is running/],
    [
      'the projectors rebalance',
      readersWith({ projectorState: 'PreparingRebalance', projectors: [memberOf()] }),
      /rebalancing: .* one that is down/,
    ],
    [
      'a rebuild was interrupted',
      storeWith({ filling: stateAt(2) }),
      /interrupted while it filled partition 3: plantctl rebuild/,
    ],
    ['a generation is left over', storeWith({ leftovers: ['old'] }), /leftover generations of partition 3/],
    [
      'records are parked, of which some were looked at',
      parkedFor(4_000, [PARKED.badKey, 1_000]),
      /4,000 records parked: plantctl parked list shows where; at least 1,000 times: its key is not an id/,
    ],
    [
      'records are parked',
      parkedFor(3, [PARKED.badKey, 1], [PARKED.otherType, 2]),
      /3 records parked: plantctl parked list shows where; 2 times: its ce_type .*; 1 time: its key is not an id/,
    ],
    [
      'keys belong to no generation',
      storeOf(12, { strangeKeys: ['{plants:3}:\x1b[31m'] }),
      /1 keys.*such as "\{plants:3\}:\\u001b\[31m"/,
    ],
    ['a setting is not recommended for production', storeOf(12, { warnings: ['1 of 3 replicas'] }), /1 of 3 replicas/],
  ])('reports a notice when %s', (_what, store, words) => {
    expect(assess(store)).toEqual({ problems: [], notices: [expect.stringMatching(words)] })
  })

  it('distinguishes a running rebuild from an interrupted one', () => {
    const { readers } = readersWith({ rebuilds: storeOf(12).readers.apis })
    expect(assess({ ...storeWith({ filling: stateAt(2) }), readers }).notices).toEqual([
      'a rebuild is running: it fills partition 3',
    ])
  })
})

describe('the output', () => {
  const lines = (store: StoreStatus, columns = Number.POSITIVE_INFINITY, all = false) =>
    statusLines(statusJson(store), { paint: createPaint(false), columns, all })
  const rowsOf = (shown: string[]) => shown.filter((line) => /^ +\d+ /.test(line) && !line.includes(','))

  it('has a summary first, then totals, readers and each partition', () => {
    expect(lines(storeUpTo(9))).toEqual(
      expect.arrayContaining([
        'No problems.',
        'plants: 12 partitions, 86 offsets, read model 2 behind',
        '  60 plants, 12 void, 0 parked, 12.0 kB in Redis',
        'Projectors: 1',
        '  plant-store-projector at 127.0.0.1: all partitions',
        `        3        9           6    2${'5'.padStart('  plants'.length)}      1       0  1.0 kB  0123abcd`,
      ]),
    )
  })

  it('counts notices in the summary, and tells members of one host apart', () => {
    const [one] = storeOf(12).readers.projectors as [StoreStatus['readers']['projectors'][number]]
    const { readers } = readersWith({ projectors: [one, { ...one, id: 'fedc4321', partitions: [] }] })
    expect(lines(storeOf(12, { warnings: ['a setting'], readers }))).toEqual(
      expect.arrayContaining([
        'No problems, 1 notice.',
        '  plant-store-projector 0123abcd at 127.0.0.1: all partitions',
        '  plant-store-projector fedc4321 at 127.0.0.1: no partitions yet',
      ]),
    )
  })

  it('escapes what other programs have named', () => {
    const apis = [{ ...memberOf(), clientId: 'x\x1b[2J\u202e', partitions: undefined }]
    const { readers } = readersWith({ apis })
    const shown = lines({ ...liveWith({ live: '\x1b[2J', partitions: 12 }), readers }).join('\n')
    expect(shown).toContain('  x\\u001b[2J\\u202e at h: unreadable: another program')
    expect(shown).toMatch(/3 .* \\u001b\[2J$/m)
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('has no line that is wider than the terminal', () => {
    const store = {
      ...storeWith({ end: 10_008 as Offset, leftovers: ['old'] }),
      warnings: ['a warning of many words '.repeat(9).trim()],
    }
    for (const columns of [40, 60, 80, 120]) {
      expect(Math.max(...lines(store, columns).map(widthOf))).toBeLessThanOrEqual(columns)
    }
    expect(lines(store, 40)).toEqual(expect.arrayContaining([expect.stringMatching(/^partition +lag( |$)/)]))
  })

  it('shows of 1,000 partitions those that stand out, or with --all every one', () => {
    const store = storeOf(1_000)
    expect(rowsOf(lines(store))).toEqual([])
    expect(lines(store).at(-1)).toBe('1,000 more partitions (--all shows them)')
    const some = store.partitions.map((one) => (one.partition % 100 === 7 ? { ...one, end: 8 as Offset } : one))
    expect(rowsOf(lines({ ...store, partitions: some }))).toHaveLength(10)
    const every = store.partitions.map((one) => ({ ...one, end: 8 as Offset }))
    expect(rowsOf(lines({ ...store, partitions: every }))).toHaveLength(24)
    expect(rowsOf(lines(store, 120, true))).toHaveLength(1_000)
  })

  it('has every partition as JSON, and null for unknown values', () => {
    const store = { ...storeOf(1_000), broken: ['the topic is gone'] }
    const unknown = store.partitions.map((one) => ({
      ...one,
      end: undefined,
      live: stateAt(0, { live: '', checkpoint: undefined }),
    }))
    const json = JSON.parse(JSON.stringify(statusJson({ ...store, partitions: unknown })))
    expect(json.partitions).toHaveLength(1_000)
    expect(json.partitions[9]).toMatchObject({
      partition: 9,
      end: null,
      checkpoint: -1,
      lag: null,
      generation: null,
    })
    expect(json.totals).toMatchObject({ offsets: null, lag: null })
  })
})
