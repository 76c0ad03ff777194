import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { claimAt, eventId, GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { openVerifiedLog, timeOf, type VerifiedLog } from '../../../tests/support/verified-log.ts'
import { type Difference, noFindings, type Subject } from './difference.ts'
import type { VerifierOptions } from './verifier.ts'

const claimOf = (id: bigint) => RECORDS.find(({ claim }) => claim?.id === id)?.claim as NonNullable<LogRecord['claim']>
type Changes = Partial<NonNullable<LogRecord['claim']>>
const entry = (id: bigint, changes: Changes = {}) => encodeEntry({ ...claimOf(id), ...changes })
const claimText = (id: bigint) => {
  const { offset, eventId, plant } = claimOf(id)
  return JSON.stringify({ offset, event: eventId, ...(plant ? textsOf(plant) : { unreadable: true }) })
}

const KEYS = ['meta', 'plants', 'order', 'parked'] as const
type Key = (typeof KEYS)[number] | 'live' | 'filling'
const keyOf = (key: Key) => (key === 'live' || key === 'filling' ? key : `${GENERATION}:${key}`)

type Corruption = [what: string, corrupt: (redis: Redis, at: string) => Promise<unknown>, found: Difference[]]

const inPlants = (id: string, bytes: Buffer | string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:plants`, id, bytes)
const noEntry = (id: string) => (redis: Redis, at: string) => redis.hdel(`${at}${GENERATION}:plants`, id)
const inMeta = (field: string, text: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:meta`, field, text)
const inParked = (offset: string, reason: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:parked`, offset, reason)
const notParked = (offset: string) => (redis: Redis, at: string) => redis.hdel(`${at}${GENERATION}:parked`, offset)
const deleted =
  (...keys: Key[]) =>
  (redis: Redis, at: string) =>
    redis.del(...keys.map((key) => at + keyOf(key)))
const reordered = (ids: string[]) => async (redis: Redis, at: string) => {
  await redis.del(`${at}${GENERATION}:order`)
  await redis.rpush(`${at}${GENERATION}:order`, ...ids)
}
const all =
  (...steps: Corruption[1][]) =>
  async (redis: Redis, at: string) => {
    for (const corrupt of steps) await corrupt(redis, at)
  }
const expiring = (key: Key) => (redis: Redis, at: string) => redis.pexpire(`${at}${keyOf(key)}`, 3_600_000)
const otherType = (key: Key, type: 'string' | 'set') => async (redis: Redis, at: string) => {
  await redis.del(`${at}${keyOf(key)}`)
  return type === 'set' ? redis.sadd(`${at}${keyOf(key)}`, 'x') : redis.set(`${at}${keyOf(key)}`, 'x')
}
const changed = (id: bigint, field: string, expected: string | null, found: string | null): Subject => ({
  what: 'entryChanged',
  id: String(id),
  field,
  expected,
  found,
})
/** An entry with these changes, which differs in one field. */
const changedEntry = (
  what: string,
  id: bigint,
  changes: Changes,
  ...difference: [field: string, expected: string | null, found: string | null]
): Corruption => [what, inPlants(String(id), entry(id, changes)), [changed(id, ...difference)]]
const changedOrder = (what: string, ids: string[], ...found: Difference[]): Corruption => [what, reordered(ids), found]
const misplaced = (id: string, after: string): Subject => ({ what: 'orderMisplaced', id, after })
const missing = (id: string): Subject => ({ what: 'orderMissing', id })
const extra = (id: string): Subject => ({ what: 'orderExtra', id })
const repeated = (id: string): Subject => ({ what: 'orderRepeated', id })
const soon = expect.stringMatching(/^\d+$/) as string

const parkedMissing: Subject = { what: 'parkedMissing', offset: '3', expected: String(PARKED.otherType) }
const noGeneration: Difference = { generation: '', what: 'noGeneration', end: offsetOf(7) }

const CORRUPTIONS: Corruption[] = [
  ['an entry is missing', noEntry('2'), [{ what: 'entryMissing', id: '2', expected: claimText(2n) }]],
  ['an extra entry', inPlants('9', entry(2n)), [{ what: 'entryExtra', id: '9', found: claimText(2n) }]],
  [
    'an extra entry from after the checkpoint',
    inPlants('9', entry(2n, { offset: offsetOf(70) })),
    [{ what: 'entryExtra', id: '9', found: claimText(2n).replace(':1,', ':70,') }],
  ],
  [
    'an entry of an invalid id',
    inPlants('007', entry(2n)),
    [{ what: 'entryExtra', id: '007', found: 'an invalid entry' }],
  ],
  changedEntry('another event', 2n, { eventId: eventId(99) }, 'eventId', eventId(1), eventId(99)),
  changedEntry('another offset', 2n, { offset: offsetOf(3) }, 'offset', '1', '3'),
  changedEntry('an offset beyond the log', 2n, { offset: offsetOf(99) }, 'offset', '1', '99'),
  changedEntry('another name', 2n, { plant: plantWith({ name: 'x' }) }, 'name', 'plant 2', 'x'),
  changedEntry('an added tag', 2n, { plant: plantWith({ name: 'plant 2', tag: '' }) }, 'tag', null, ''),
  changedEntry('a removed tag', 1n, { plant: plantWith({ name: 'plant 1' }) }, 'tag', 'herb', null),
  changedEntry('another tag', 1n, { plant: plantWith({ name: 'plant 1', tag: 'tree' }) }, 'tag', 'herb', 'tree'),
  changedEntry('a readable event stored as unreadable', 2n, { plant: undefined }, 'readable', 'yes', 'no'),
  changedEntry(
    'an unreadable event stored as readable',
    3n,
    { plant: plantWith({ name: 'x' }) },
    'readable',
    'no',
    'yes',
  ),
  [
    'an entry of another id in place of one',
    all(noEntry('2'), inPlants('9', entry(2n))),
    [
      { what: 'entryMissing', id: '2', expected: claimText(2n) },
      { what: 'entryExtra', id: '9', found: claimText(2n) },
    ],
  ],
  [
    'two swapped entries',
    all(inPlants('4', entry(5n)), inPlants('5', entry(4n))),
    [
      ...[changed(4n, 'eventId', eventId(5), eventId(6)), changed(5n, 'eventId', eventId(6), eventId(5))],
      ...[changed(4n, 'offset', '5', '6'), changed(5n, 'offset', '6', '5')],
      ...[changed(4n, 'name', 'plant 4', 'plant 5'), changed(5n, 'name', 'plant 5', 'plant 4')],
    ],
  ],
  [
    'the last byte of an entry at the start of the next one',
    all(inPlants('1', entry(1n).subarray(0, -1)), inPlants('2', Buffer.concat([entry(1n).subarray(-1), entry(2n)]))),
    [changed(1n, 'tag', 'herb', 'her'), { what: 'entryUndecodable', id: '2', expected: claimText(2n) }],
  ],
  // Lengths have 16 bits where entries are compared by their bytes.
  ...[Buffer.from([9, 9]), Buffer.alloc(0), Buffer.alloc(65_535), Buffer.alloc(65_536)].map(
    (bytes): Corruption => [
      `an invalid entry of ${bytes.length} bytes`,
      inPlants('2', bytes),
      [{ what: 'entryUndecodable', id: '2', expected: claimText(2n) }],
    ],
  ),
  changedOrder('two swapped ids in the order', ['1', '3', '2', '4', '5'], misplaced('2', '3')),
  changedOrder('two swapped ids, created one after the other', ['1', '2', '3', '5', '4'], misplaced('4', '5')),
  changedOrder('an id missing from the order', ['1', '2', '4', '5'], missing('3')),
  changedOrder('an extra id in the order', ['1', '2', '3', '9', '4', '5'], extra('9')),
  changedOrder('an invalid id in the order', ['1', '2', 'x', '3', '4', '5'], extra('x')),
  changedOrder('an id twice in the order', ['1', '2', '3', '4', '2', '5'], repeated('2')),
  changedOrder('an id in the order in place of another', ['1', '1', '3', '4', '5'], repeated('1'), missing('2')),
  changedOrder(
    'two ids in one element of the order, and an empty element',
    ['1,2', '', '3', '4', '5'],
    ...[extra('1,2'), extra(''), missing('1'), missing('2')],
  ),
  [
    'a plant under another id, in the order and among the entries',
    all(noEntry('2'), inPlants('9', entry(2n)), reordered(['1', '9', '3', '4', '5'])),
    [
      ...[extra('9'), missing('2')],
      { what: 'entryMissing', id: '2', expected: claimText(2n) },
      { what: 'entryExtra', id: '9', found: claimText(2n) },
    ],
  ],
  ['no order', deleted('order'), ['1', '2', '3', '4', '5'].map(missing)],
  ['another count of plants', inMeta('plants', '6'), [{ what: 'count', of: 'plants', expected: '5', found: '6' }]],
  ['another count of voids', inMeta('voids', '0'), [{ what: 'count', of: 'voids', expected: '1', found: '0' }]],
  ['another count of parked', inMeta('parked', '02'), [{ what: 'count', of: 'parked', expected: '2', found: '02' }]],
  [
    'no count of plants',
    (redis, at) => redis.hdel(`${at}${GENERATION}:meta`, 'plants'),
    [{ what: 'count', of: 'plants', expected: '5', found: '' }],
  ],
  ...['7', '6x', '06'].map(
    (found): Corruption => [
      `a checkpoint that is beyond the log, or not an offset: ${found}`,
      inMeta('checkpoint', found),
      [{ what: 'checkpoint', expected: 'an offset from -1 to 6', found }],
    ],
  ),
  ...[eventId(5), ''].map(
    (found): Corruption => [
      `another event at the checkpoint, or none: "${found}"`,
      inMeta('event', found),
      [{ what: 'checkpointEvent', offset: offsetOf(6), expected: eventId(6), found }],
    ],
  ),
  ['a missing parked record', notParked('3'), [parkedMissing]],
  ['an extra parked record', inParked('1', '2'), [{ what: 'parkedExtra', offset: '1', found: '2' }]],
  ['a record parked after the checkpoint', inParked('50', '2'), [{ what: 'parkedExtra', offset: '50', found: '2' }]],
  ['a record parked at an invalid offset', inParked('03', '1'), [{ what: 'parkedExtra', offset: '03', found: '1' }]],
  ...['NaN', '1000', '3.0'].map(
    (offset): Corruption => [
      `a record parked at ${offset} in place of a valid one`,
      all(notParked('3'), inParked(offset, '2')),
      [parkedMissing, { what: 'parkedExtra', offset, found: '2' }],
    ],
  ),
  ...['2', '01'].map(
    (found): Corruption => [
      `another reason of a parked record, or another notation of it: ${found}`,
      inParked('3', found),
      [{ what: 'parkedReason', offset: '3', expected: String(PARKED.otherType), found }],
    ],
  ),
  ['a leftover mark', inMeta('mark', 'm'), [{ what: 'mark', expected: '', found: 'm' }]],
  ['an extra field in the meta', inMeta('hint', ''), [{ what: 'strangeField', found: 'hint' }]],
  ['an older fold', inMeta('fold', '0'), [{ what: 'foldVersion', expected: '1', found: '0' }]],
  ['a newer fold', inMeta('fold', '2'), [{ what: 'foldVersion', expected: '1', found: '2' }]],
  ['another partition count', inMeta('partitions', '3'), [{ what: 'partitionCount', expected: '2', found: '3' }]],
  [
    'a filling pointer to a missing generation',
    (redis, at) => redis.set(`${at}filling`, 'nothing'),
    [{ what: 'pointerDangling', key: 'filling', found: 'nothing' }],
  ],
  ...(['live', ...KEYS] as const).map(
    (key): Corruption => [`an expiry of ${key}`, expiring(key), [{ what: 'expiry', key, found: soon }]],
  ),
  ...(
    [
      ['plants', 'hash', 'string'],
      ['order', 'list', 'set'],
      ['meta', 'hash', 'string'],
      ['parked', 'hash', 'set'],
      ['filling', 'string', 'set'],
    ] as const
  ).map(
    ([key, expected, found]): Corruption => [
      `${key} of another type`,
      otherType(key, found),
      [{ what: 'wrongType', key, expected, found }],
    ],
  ),
  [
    'a live pointer to a missing generation',
    (redis, at) => redis.set(`${at}live`, 'nothing'),
    [
      { generation: 'nothing', what: 'pointerDangling', key: 'live', found: 'nothing' },
      { what: 'leftover', found: GENERATION },
    ],
  ],
  ['a missing live pointer', deleted('live'), [{ what: 'leftover', found: GENERATION }, noGeneration]],
  ['a partition without any key', deleted('live', ...KEYS), [noGeneration]],
  [
    'a pointer of another type',
    otherType('live', 'set'),
    [
      { generation: '', what: 'wrongType', key: 'live', expected: 'string', found: 'set' },
      { what: 'leftover', found: GENERATION },
      noGeneration,
    ],
  ],
  [
    'a leftover of a rebuild',
    (redis, at) => redis.rpush(`${at}old-one:order`, '1'),
    [{ generation: 'old-one', what: 'leftover', found: 'old-one' }],
  ],
  ...['', ':other', ':live:', 'x'].map(
    (rest): Corruption => [
      `a key with the end "${rest}" that belongs to nothing`,
      (redis, at) => redis.set(`${at.slice(0, -1)}${rest}`, 'x'),
      [{ what: 'strangeKey', found: expect.stringMatching(`}${rest}$`) as string }],
    ],
  ),
  [
    'a key of a partition that does not exist',
    (redis, at) => redis.set(at.replace(':0}', ':2}').concat('live'), 'x'),
    [{ what: 'strangeKey', found: expect.stringMatching(':2}:live$') as string }],
  ],
]

/** One slice and several have to find the same. */
const LIMITS = [500_000, 3]
/** Leftovers are checked again after a delay, which is pointless here. */
const time = timeOf(async () => {})

it.each(CORRUPTIONS)('finds %s, and nothing else', async (_what, corrupt, expected) => {
  const { redis, at, verify } = await openCorruptible()
  for (const recordsAtOnceMax of LIMITS) expect((await verify({ recordsAtOnceMax })).findings).toEqual(noFindings())
  await corrupt(redis, at)
  for (const recordsAtOnceMax of LIMITS) {
    const { findings } = await verify({ recordsAtOnceMax, time })
    expect(findings.more).toBe(0)
    expect(sorted(findings.listed)).toEqual(sorted(expected.map(inGeneration)))
  }
})

/** A difference of the live generation, unless the test names another one. */
const inGeneration = (one: Difference) =>
  one.what === 'strangeKey' ? one : { partition: P, generation: GENERATION, ...one }
const sorted = (differences: readonly Difference[]) =>
  differences.toSorted((a, b) => (subjectOf(a) < subjectOf(b) ? -1 : 1))
const subjectOf = (difference: Difference) => JSON.stringify([difference.what, 'id' in difference ? difference.id : ''])

it('finds an event id at a checkpoint that has no event', async () => {
  const { redis, at, verify, write, apply } = await openCorruptible()
  const control = { records: [], next: { offset: offsetOf(7), eventId: '' as const } }
  write(P, control)
  await apply(P, control, GENERATION)
  expect((await verify()).findings).toEqual(noFindings())
  await redis.hset(`${at}${GENERATION}:meta`, 'event', 'some')
  const found = { what: 'checkpointEvent', offset: offsetOf(7), expected: '', found: 'some' }
  expect((await verify()).findings.listed).toEqual([{ partition: P, generation: GENERATION, ...found }])
})

describe('during the verification', () => {
  const more = (from: number, count: number) => {
    const records = Array.from({ length: count }, (_, n): LogRecord => {
      // Every third record claims an id that another one has claimed.
      const record = claimAt(from + n, BigInt(1_000 + from + n - (n % 3 === 0 ? 200 : 0)))
      return n % 5 === 0 ? { ...record, parked: PARKED.unknownVersion } : record
    })
    return { records, next: checkpointAt((from + count - 1) as Offset, records) }
  }

  /** Does some work each time after the log and before Redis is read. */
  const afterReading = (log: Pick<VerifiedLog, 'read'>, work: () => Promise<void>) => ({
    recordsAtOnceMax: 900,
    async read(...args: Parameters<VerifierOptions['read']>): Promise<void> {
      await log.read(...args)
      await work()
    },
  })

  it('records after the checkpoint are no difference', async () => {
    const log = await openVerifiedLog()
    log.write(P, more(0, 2_000))
    await log.apply(P, more(0, 2_000), GENERATION)
    let from = 2_000
    const grow = async () => {
      log.write(P, more(from, 300))
      await log.apply(P, more(from, 300), GENERATION)
      from += 300
    }
    expect((await log.verify(afterReading(log, grow))).findings).toEqual(noFindings())
    expect(from).toBeGreaterThan(2_600)
    expect(await log.verify()).toMatchObject({
      findings: { listed: [] },
      partitions: [{ upTo: from - 1 }, {}],
    })
  })

  it('entries that were there too early are counted, although they later match the log', async () => {
    const log = await openVerifiedLog()
    log.write(P, more(0, 20))
    await log.apply(P, more(0, 20), GENERATION)
    const early = more(20, 20)
    const { claim } = early.records[4] as Required<LogRecord>
    await log.redis.hset(`${log.at(P)}${GENERATION}:plants`, String(claim.id), encodeEntry(claim))
    await log.redis.hset(`${log.at(P)}${GENERATION}:parked`, '25', '5')
    log.write(P, early)
    const grow = () => log.apply(P, early, GENERATION)
    const { findings } = await log.verify({ ...afterReading(log, grow), recordsAtOnceMax: 500_000 })
    const common = { partition: P, generation: GENERATION, what: 'size' }
    expect(findings.listed).toEqual([
      { ...common, of: 'plants', expected: '20', found: '21' },
      { ...common, of: 'parked', expected: '4', found: '5' },
    ])
  })

  it('a log that grows while nothing is projected is no difference', async () => {
    const log = await openCorruptible()
    log.write(P, more(7, 50))
    expect(await log.verify()).toMatchObject({
      findings: { listed: [] },
      partitions: [{ upTo: 6, end: 57, plants: 5 }, {}],
    })
  })

  const switchTo = async ({ readModel }: Pick<VerifiedLog, 'readModel'>, name: string, dropped: boolean) => {
    const { generations } = readModel
    const { live } = await generations.pointers(P)
    await generations.startFilling(P, name)
    await generations.fill(P, name, { offset: offsetOf(-1), eventId: '' }, LOG.next, LOG.records)
    await generations.mark(P, name, 'mark')
    const call = { generation: name, mark: 'mark', expectedLive: live, verified: LOG.next.offset }
    expect(await generations.switchTo(P, call)).toEqual({ is: 'switched' })
    if (dropped) await generations.drop(P, live)
  }

  it.each([true, false])(
    'a partition whose live generation is switched is compared again (old one dropped: %s)',
    async (dropped) => {
      const log = await openCorruptible()
      let attempt = 0
      const once = async () => {
        if (attempt++ === 0) await switchTo(log, 'next-one', dropped)
      }
      expect(await log.verify(afterReading(log, once))).toMatchObject({
        findings: { listed: dropped ? [] : [{ what: 'leftover', found: GENERATION }], more: 0 },
        partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
      })
      expect(attempt).toBeGreaterThan(1)
    },
  )

  it('fails when the live generation is switched each time', async () => {
    const log = await openCorruptible()
    let attempt = 0
    const verifying = log.verify(afterReading(log, () => switchTo(log, `one-${attempt++}`, true)))
    await expect(verifying).rejects.toThrow('partition 0 changed 5 times')
  })

  it('a generation that a rebuild drops right after its switch is no leftover', async () => {
    const log = await openCorruptible()
    await log.redis.rpush(`${log.at}old-one:order`, '1')
    const time = timeOf(() => log.readModel.generations.drop(P, 'old-one'))
    expect((await log.verify({ time })).findings).toEqual(noFindings())
  })

  it('a partition whose first record was just written is no difference', async () => {
    const log = await openVerifiedLog()
    log.write(P, LOG)
    const time = timeOf(() => log.apply(P, LOG, GENERATION))
    expect(await log.verify({ time })).toMatchObject({
      findings: { listed: [], more: 0 },
      partitions: [{ generation: '', upTo: -1, end: 7 }, { generation: '' }],
    })
  })

  it('a partition that falls back is compared again', async () => {
    const log = await openCorruptible()
    let attempt = 0
    const fallBack = async () => {
      if (attempt++ > 0) return
      await log.redis.del(await log.redis.keys(`${log.at}*`))
      const records = LOG.records.slice(0, 3)
      await log.apply(P, { records, next: checkpointAt(2 as Offset, records) }, GENERATION)
    }
    expect(await log.verify(afterReading(log, fallBack))).toMatchObject({
      findings: { listed: [], more: 0 },
      partitions: [{ generation: GENERATION, upTo: 2 }, { generation: '' }],
    })
  })
})
