import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { expect, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { claimAt, eventId, GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { openVerifiedLog, timeOf, type VerifiedLog } from '../../../tests/support/verified-log.ts'
import { type Difference, type KeyName, noFindings, type Subject } from './difference.ts'
import type { VerifierOptions } from './verifier.ts'

const claimOf = (id: bigint) => RECORDS.find(({ claim }) => claim?.id === id)?.claim as NonNullable<LogRecord['claim']>
type Changes = Partial<NonNullable<LogRecord['claim']>>
const entry = (id: bigint, changes: Changes = {}) => encodeEntry({ ...claimOf(id), ...changes })
const claimText = (id: bigint) => {
  const { offset, eventId, plant } = claimOf(id)
  return JSON.stringify({ offset, event: eventId, ...(plant ? textsOf(plant) : { unreadable: true }) })
}

/** Keys of the partition, without what all of its keys begin with. */
const [META, PLANTS, ORDER, PARKS] = ['meta', 'plants', 'order', 'parked'].map((name) => `:${GENERATION}:${name}`) as [
  ...[string, string, string, string],
]
const [LIVE, FILLING] = [':live', ':filling']

/** Commands of Redis, and the differences that they make. */
type Command = [name: string, key: string, ...args: (string | Buffer)[]]
type Corruption = [what: string, commands: Command[], ...found: Difference[]]

const reordered = (...ids: string[]): Command[] => [
  ['del', ORDER],
  ['rpush', ORDER, ...ids],
]
const otherType = (key: string, type: string): Command[] => [
  ['del', key],
  type === 'set' ? ['sadd', key, 'x'] : ['set', key, 'x'],
]
const wrongType = (key: KeyName, name: string, expected: string, found: string): Corruption => [
  `${key} of another type`,
  otherType(name, found),
  { what: 'wrongType', key, expected, found },
]
/** An entry with these changes, which differs in one field. */
const changedEntry = (
  id: bigint,
  changes: Changes,
  ...[field, expected, found]: [string, string | null, string | null]
): Corruption => [
  `plant ${id} with another ${field}: ${found}`,
  [['hset', PLANTS, String(id), entry(id, changes)]],
  { what: 'entryChanged', id: String(id), field, expected, found },
]
/** The corruptions of a field that has each of these values, which is found unless the difference says what is. */
const fieldWith = (key: string, field: string, values: string[], difference: Difference) =>
  values.map(
    (found): Corruption => [
      `"${found}" as ${field} of ${key}`,
      [['hset', key, field, found]],
      { found, ...difference },
    ],
  )
const REASON = String(PARKED.otherType)
const missing = (id: string): Subject => ({ what: 'orderMissing', id })
const extra = (id: string): Subject => ({ what: 'orderExtra', id })
const entryMissing: Subject = { what: 'entryMissing', id: '2', expected: claimText(2n) }
const entryExtra: Subject = { what: 'entryExtra', id: '9', found: claimText(2n) }
const undecodable: Subject = { what: 'entryUndecodable', id: '2', expected: claimText(2n) }
const leftover: Subject = { what: 'leftover', found: GENERATION }
const noGeneration: Difference = { generation: '', what: 'noGeneration', end: offsetOf(7) }

const CORRUPTIONS: Corruption[] = [
  ['an entry is missing', [['hdel', PLANTS, '2']], entryMissing],
  ['an extra entry', [['hset', PLANTS, '9', entry(2n)]], entryExtra],
  [
    'an extra entry from after the checkpoint',
    [['hset', PLANTS, '9', entry(2n, { offset: offsetOf(70) })]],
    { ...entryExtra, found: claimText(2n).replace(':1,', ':70,') },
  ],
  [
    'an entry of an invalid id',
    [['hset', PLANTS, '007', entry(2n)]],
    { what: 'entryExtra', id: '007', found: 'an invalid entry' },
  ],
  changedEntry(2n, { eventId: eventId(99) }, 'eventId', eventId(1), eventId(99)),
  changedEntry(2n, { offset: offsetOf(99) }, 'offset', '1', '99'),
  changedEntry(2n, { plant: plantWith({ name: 'x' }) }, 'name', 'plant 2', 'x'),
  changedEntry(2n, { plant: plantWith({ name: 'plant 2', tag: '' }) }, 'tag', null, ''),
  changedEntry(1n, { plant: plantWith({ name: 'plant 1' }) }, 'tag', 'herb', null),
  changedEntry(2n, { plant: undefined }, 'readable', 'yes', 'no'),
  changedEntry(3n, { plant: plantWith({ name: 'x' }) }, 'readable', 'no', 'yes'),
  [
    'the last byte of an entry at the start of the next one',
    [
      ['hset', PLANTS, '1', entry(1n).subarray(0, -1)],
      ['hset', PLANTS, '2', Buffer.concat([entry(1n).subarray(-1), entry(2n)])],
    ],
    { what: 'entryChanged', id: '1', field: 'tag', expected: 'herb', found: 'her' },
    undecodable,
  ],
  // Lengths have 16 bits where entries are compared by their bytes.
  ...[2, 0, 65_535, 65_536].map(
    (size): Corruption => [
      `an invalid entry of ${size} bytes`,
      [['hset', PLANTS, '2', Buffer.alloc(size)]],
      undecodable,
    ],
  ),
  ['two swapped ids in the order', reordered('1', '3', '2', '4', '5'), { what: 'orderMisplaced', id: '2', after: '3' }],
  ['an id missing from the order', reordered('1', '2', '4', '5'), missing('3')],
  ['an extra id in the order', reordered('1', '2', '3', '9', '4', '5'), extra('9')],
  ['an id twice in the order', reordered('1', '2', '3', '4', '2', '5'), { what: 'orderRepeated', id: '2' }],
  [
    'two ids in one element of the order, and an empty element',
    reordered('1,2', '', '3', '4', '5'),
    ...[extra('1,2'), extra(''), missing('1'), missing('2')],
  ],
  [
    'a plant under another id, in the order and among the entries',
    [['hdel', PLANTS, '2'], ['hset', PLANTS, '9', entry(2n)], ...reordered('1', '9', '3', '4', '5')],
    ...[extra('9'), missing('2'), entryMissing, entryExtra],
  ],
  ['no order', [['del', ORDER]], ...['1', '2', '3', '4', '5'].map(missing)],
  ['no count of plants', [['hdel', META, 'plants']], { what: 'count', of: 'plants', expected: '5', found: '' }],
  ...fieldWith(META, 'voids', ['0'], { what: 'count', of: 'voids', expected: '1' }),
  ...fieldWith(META, 'parked', ['02'], { what: 'count', of: 'parked', expected: '2' }),
  // Beyond the log, or no offset.
  ...fieldWith(META, 'checkpoint', ['7', '6x', '06'], { what: 'checkpoint', expected: 'an offset from -1 to 6' }),
  ...fieldWith(META, 'event', [eventId(5), ''], { what: 'checkpointEvent', offset: offsetOf(6), expected: eventId(6) }),
  ...fieldWith(META, 'mark', ['m'], { what: 'mark', expected: '' }),
  ...fieldWith(META, 'hint', [''], { what: 'strangeField', found: 'hint' }),
  ...fieldWith(META, 'fold', ['0', '2'], { what: 'foldVersion', expected: '1' }),
  ...fieldWith(META, 'partitions', ['3'], { what: 'partitionCount', expected: '2' }),
  ['a missing parked record', [['hdel', PARKS, '3']], { what: 'parkedMissing', offset: '3', expected: REASON }],
  ...['1', '50', '03', 'NaN', '3.0'].flatMap((offset) =>
    fieldWith(PARKS, offset, ['2'], { what: 'parkedExtra', offset }),
  ),
  // Another reason, and another notation of the same one.
  ...fieldWith(PARKS, '3', ['2', '01'], { what: 'parkedReason', offset: '3', expected: REASON }),
  ...(['live', 'meta', 'plants', 'order', 'parked'] as const).map(
    (key): Corruption => [
      `an expiry of ${key}`,
      [['pexpire', key === 'live' ? LIVE : `:${GENERATION}:${key}`, '3600000']],
      { what: 'expiry', key, found: expect.stringMatching(/^\d+$/) as string },
    ],
  ),
  wrongType('plants', PLANTS, 'hash', 'string'),
  wrongType('order', ORDER, 'list', 'set'),
  wrongType('meta', META, 'hash', 'string'),
  wrongType('parked', PARKS, 'hash', 'set'),
  wrongType('filling', FILLING, 'string', 'set'),
  [
    'a pointer of another type',
    otherType(LIVE, 'set'),
    { generation: '', what: 'wrongType', key: 'live', expected: 'string', found: 'set' },
    ...[leftover, noGeneration],
  ],
  [
    'a filling pointer to a missing generation',
    [['set', FILLING, 'nothing']],
    { what: 'pointerDangling', key: 'filling', found: 'nothing' },
  ],
  [
    'a live pointer to a missing generation',
    [['set', LIVE, 'nothing']],
    { generation: 'nothing', what: 'pointerDangling', key: 'live', found: 'nothing' },
    leftover,
  ],
  ['a missing live pointer', [['del', LIVE]], leftover, noGeneration],
  ['a partition without any key', [LIVE, META, PLANTS, ORDER, PARKS].map((key) => ['del', key]), noGeneration],
  [
    'a leftover of a rebuild',
    [['rpush', ':old-one:order', '1']],
    { generation: 'old-one', what: 'leftover', found: 'old-one' },
  ],
  ...['', ':other', ':live:', 'x'].map(
    (rest): Corruption => [
      `a key with the end "${rest}" that belongs to nothing`,
      [['set', rest, 'x']],
      { what: 'strangeKey', found: expect.stringMatching(`:0}${rest}$`) as string },
    ],
  ),
]

/** One slice and several have to find the same. */
const LIMITS = [500_000, 3]
/** Leftovers are checked again after a delay, which is pointless here. */
const time = timeOf(async () => {})

it.each(CORRUPTIONS)('finds %s, and nothing else', async (_what, commands, ...expected) => {
  const { redis, at, verify } = await openCorruptible()
  for (const recordsAtOnceMax of LIMITS) expect((await verify({ recordsAtOnceMax })).findings).toEqual(noFindings())
  for (const [name, key, ...args] of commands) await redis.call(name, at.slice(0, -1) + key, ...args)
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
  log.write(P, more(from, 50))
  expect(await log.verify()).toMatchObject({
    findings: { listed: [] },
    partitions: [{ upTo: from - 1, end: from + 50 }, {}],
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

type Corruptible = Awaited<ReturnType<typeof openCorruptible>>

async function fallBack({ redis, at, apply }: Corruptible): Promise<void> {
  await redis.del(await redis.keys(`${at}*`))
  const records = LOG.records.slice(0, 3)
  await apply(P, { records, next: checkpointAt(2 as Offset, records) }, GENERATION)
}

it.each<[string, (log: Corruptible) => Promise<void>, object[], object]>([
  ['is switched', (log) => switchTo(log, 'next-one', true), [], { generation: 'next-one', upTo: 6 }],
  [
    'is switched and stays',
    (log) => switchTo(log, 'next-one', false),
    [{ what: 'leftover', found: GENERATION }],
    { generation: 'next-one', upTo: 6 },
  ],
  ['falls back', fallBack, [], { generation: GENERATION, upTo: 2 }],
])('a partition whose live generation %s is compared again', async (_what, change, listed, partition) => {
  const log = await openCorruptible()
  let attempt = 0
  const once = async () => {
    if (attempt++ === 0) await change(log)
  }
  expect(await log.verify(afterReading(log, once))).toMatchObject({
    findings: { listed, more: 0 },
    partitions: [partition, { generation: '' }],
  })
  expect(attempt).toBeGreaterThan(1)
})

it('fails when the live generation is switched each time', async () => {
  const log = await openCorruptible()
  let attempt = 0
  const verifying = log.verify(afterReading(log, () => switchTo(log, `one-${attempt++}`, true)))
  await expect(verifying).rejects.toThrow('partition 0 changed 5 times')
})

it('a generation that is dropped soon after its switch, and a partition that is filled soon, are no difference', async () => {
  const [switched, filled] = [await openCorruptible(), await openVerifiedLog()]
  await switched.redis.rpush(`${switched.at}old-one:order`, '1')
  const dropping = timeOf(() => switched.readModel.generations.drop(P, 'old-one'))
  expect((await switched.verify({ time: dropping })).findings).toEqual(noFindings())
  filled.write(P, LOG)
  const filling = timeOf(() => filled.apply(P, LOG, GENERATION))
  expect((await filled.verify({ time: filling })).findings).toEqual(noFindings())
})
