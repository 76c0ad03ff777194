import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'
import type { Time } from '@plant-store/shared/process/time.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { encodeEntry } from '@plant-store/shared/read-model/entry.ts'
import type { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { openVerifiedLog, type VerifiedLog } from '../../../../tests/support/verified-log.ts'
import type { Difference, GenerationDifference } from './difference.ts'
import { countOf, noFindings, note } from './findings.ts'
import type { VerifierOptions } from './verifier.ts'

const P = 0 as Partition
const GENERATION = 'live-one'
const eventId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}` as EventId

const claimAt = (at: number, id: bigint, rest: Partial<NonNullable<LogRecord['claim']>> = {}): LogRecord => {
  const offset = offsetOf(at)
  return {
    offset,
    claim: { offset, id: id as PlantId, eventId: eventId(at), plant: { name: `plant ${id}` }, ...rest },
  }
}

const TAGGED = claimAt(0, 1n, { plant: { name: 'plant 1', tag: 'herb' } })
const RECORDS: LogRecord[] = [
  TAGGED,
  claimAt(1, 2n),
  claimAt(2, 1n),
  { offset: offsetOf(3), parked: PARKED.otherType },
  { ...claimAt(4, 3n, { plant: undefined }), parked: PARKED.unknownVersion },
  claimAt(5, 4n),
  claimAt(6, 5n),
]
const LOG = { records: RECORDS, next: checkpointAt(6 as Offset, RECORDS) }

const claimOf = (id: bigint) =>
  RECORDS.find(({ claim }) => claim?.id === id)?.claim as NonNullable<LogRecord['claim']>
const entry = (id: bigint, changed: Partial<NonNullable<LogRecord['claim']>> = {}) =>
  encodeEntry({ ...claimOf(id), ...changed })
const words = (id: bigint) => {
  const { offset, eventId, plant } = claimOf(id)
  return JSON.stringify({ offset, event: eventId, ...(plant ?? { unreadable: true }) })
}

type Corruption = [
  what: string,
  corrupt: (redis: Redis, at: string) => Promise<unknown>,
  found: GenerationDifference[],
]

const inPlants = (id: string, bytes: Buffer | string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:plants`, id, bytes)
const inMeta = (field: string, text: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:meta`, field, text)
const inParked = (offset: string, reason: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:parked`, offset, reason)
const order =
  (...ids: string[]) =>
  async (redis: Redis, at: string) => {
    await redis.del(`${at}${GENERATION}:order`)
    await redis.rpush(`${at}${GENERATION}:order`, ...ids)
  }
const expiring =
  (key: string) =>
  (redis: Redis, at: string): Promise<unknown> =>
    redis.pexpire(`${at}${key}`, 3_600_000)
const otherType =
  (key: string, type: 'string' | 'set') =>
  async (redis: Redis, at: string): Promise<unknown> => {
    await redis.del(`${at}${key}`)
    return type === 'set' ? redis.sadd(`${at}${key}`, 'x') : redis.set(`${at}${key}`, 'x')
  }
const changed = (
  id: bigint,
  field: 'eventId' | 'offset' | 'readable' | 'name' | 'tag',
  expected: string | null,
  found: string | null,
): GenerationDifference => ({ what: 'entryChanged', id: String(id), field, expected, found })
const soon = expect.stringMatching(/^\d+$/) as string

const CORRUPTIONS: Corruption[] = [
  [
    'an entry is missing',
    (redis, at) => redis.hdel(`${at}${GENERATION}:plants`, '2'),
    [{ what: 'entryMissing', id: '2', expected: words(2n) }],
  ],
  ['an entry too many', inPlants('9', entry(2n)), [{ what: 'entryExtra', id: '9', found: words(2n) }]],
  [
    'an entry too many from beyond the checkpoint',
    inPlants('9', entry(2n, { offset: offsetOf(70) })),
    [{ what: 'entryExtra', id: '9', found: words(2n).replace(':1,', ':70,') }],
  ],
  [
    'an entry of what is no id',
    inPlants('007', entry(2n)),
    [{ what: 'entryExtra', id: '007', found: 'bytes that are no entry' }],
  ],
  [
    'another event',
    inPlants('2', entry(2n, { eventId: eventId(99) })),
    [changed(2n, 'eventId', eventId(1), eventId(99))],
  ],
  ['another offset', inPlants('2', entry(2n, { offset: offsetOf(3) })), [changed(2n, 'offset', '1', '3')]],
  [
    'an offset beyond the log',
    inPlants('2', entry(2n, { offset: offsetOf(99) })),
    [changed(2n, 'offset', '1', '99')],
  ],
  ['another name', inPlants('2', entry(2n, { plant: { name: 'x' } })), [changed(2n, 'name', 'plant 2', 'x')]],
  [
    'a tag more',
    inPlants('2', entry(2n, { plant: { name: 'plant 2', tag: '' } })),
    [changed(2n, 'tag', null, '')],
  ],
  [
    'a tag less',
    inPlants('1', entry(1n, { plant: { name: 'plant 1' } })),
    [changed(1n, 'tag', 'herb', null)],
  ],
  [
    'another tag',
    inPlants('1', entry(1n, { plant: { name: 'plant 1', tag: 'tree' } })),
    [changed(1n, 'tag', 'herb', 'tree')],
  ],
  [
    'what could be read can not',
    inPlants('2', entry(2n, { plant: undefined })),
    [changed(2n, 'readable', 'yes', 'no')],
  ],
  [
    'what could not be read can',
    inPlants('3', entry(3n, { plant: { name: 'x' } })),
    [changed(3n, 'readable', 'no', 'yes')],
  ],
  [
    'bytes that are no entry',
    inPlants('2', Buffer.from([9, 9])),
    [{ what: 'entryUndecodable', id: '2', expected: words(2n) }],
  ],
  [
    'two ids exchanged in the order',
    order('1', '3', '2', '4', '5'),
    [{ what: 'orderMisplaced', id: '2', after: '3' }],
  ],
  [
    'two ids exchanged that were created one right after the other',
    order('1', '2', '3', '5', '4'),
    [{ what: 'orderMisplaced', id: '4', after: '5' }],
  ],
  ['an id missing in the order', order('1', '2', '4', '5'), [{ what: 'orderMissing', id: '3' }]],
  ['an id too many in the order', order('1', '2', '3', '9', '4', '5'), [{ what: 'orderExtra', id: '9' }]],
  ['no id in the order', order('1', '2', 'x', '3', '4', '5'), [{ what: 'orderExtra', id: 'x' }]],
  ['an id twice in the order', order('1', '2', '3', '4', '2', '5'), [{ what: 'orderRepeated', id: '2' }]],
  [
    'no order',
    (redis, at) => redis.del(`${at}${GENERATION}:order`),
    ['1', '2', '3', '4', '5'].map((id) => ({ what: 'orderMissing', id })),
  ],
  [
    'another count of plants',
    inMeta('plants', '6'),
    [{ what: 'count', of: 'plants', expected: '5', found: '6' }],
  ],
  [
    'another count of voids',
    inMeta('voids', '0'),
    [{ what: 'count', of: 'voids', expected: '1', found: '0' }],
  ],
  [
    'another count of parked',
    inMeta('parked', '02'),
    [{ what: 'count', of: 'parked', expected: '2', found: '02' }],
  ],
  [
    'no count of plants',
    (redis, at) => redis.hdel(`${at}${GENERATION}:meta`, 'plants'),
    [{ what: 'count', of: 'plants', expected: '5', found: '' }],
  ],
  [
    'a checkpoint beyond the log',
    inMeta('checkpoint', '7'),
    [{ what: 'checkpoint', expected: 'an offset from -1 to 6', found: '7' }],
  ],
  [
    'a checkpoint that is no offset',
    inMeta('checkpoint', '6x'),
    [{ what: 'checkpoint', expected: 'an offset from -1 to 6', found: '6x' }],
  ],
  [
    'a checkpoint written otherwise',
    inMeta('checkpoint', '06'),
    [{ what: 'checkpoint', expected: 'an offset from -1 to 6', found: '06' }],
  ],
  [
    'another event at the checkpoint',
    inMeta('event', eventId(5)),
    [{ what: 'checkpointEvent', offset: offsetOf(6), expected: eventId(6), found: eventId(5) }],
  ],
  [
    'no event at the checkpoint',
    inMeta('event', ''),
    [{ what: 'checkpointEvent', offset: offsetOf(6), expected: eventId(6), found: '' }],
  ],
  [
    'a parked record missing',
    (redis, at) => redis.hdel(`${at}${GENERATION}:parked`, '3'),
    [{ what: 'parkedMissing', offset: '3', expected: String(PARKED.otherType) }],
  ],
  ['a parked record too many', inParked('1', '2'), [{ what: 'parkedExtra', offset: '1', found: '2' }]],
  [
    'one parked beyond the checkpoint',
    inParked('50', '2'),
    [{ what: 'parkedExtra', offset: '50', found: '2' }],
  ],
  ['one parked at no offset', inParked('03', '1'), [{ what: 'parkedExtra', offset: '03', found: '1' }]],
  [
    'another reason',
    inParked('3', '2'),
    [{ what: 'parkedReason', offset: '3', expected: String(PARKED.otherType), found: '2' }],
  ],
  [
    'a reason written otherwise',
    inParked('3', '01'),
    [{ what: 'parkedReason', offset: '3', expected: String(PARKED.otherType), found: '01' }],
  ],
  ['a mark left over', inMeta('mark', 'm'), [{ what: 'mark', expected: '', found: 'm' }]],
  ['a field too many in the meta', inMeta('hint', ''), [{ what: 'strangeField', found: 'hint' }]],
  ['an older fold', inMeta('fold', '0'), [{ what: 'foldVersion', expected: '1', found: '0' }]],
  ['a newer fold', inMeta('fold', '2'), [{ what: 'foldVersion', expected: '1', found: '2' }]],
  [
    'another partition count',
    inMeta('partitions', '3'),
    [{ what: 'partitionCount', expected: '2', found: '3' }],
  ],
  [
    'a filling pointer that names nothing',
    (redis, at) => redis.set(`${at}filling`, 'nothing'),
    [{ what: 'pointerDangling', key: 'filling', found: 'nothing' }],
  ],
  ['an expiry of the pointer', expiring('live'), [{ what: 'expiry', key: 'live', found: soon }]],
  ...(['meta', 'plants', 'order', 'parked'] as const).map(
    (key): Corruption => [
      `an expiry of ${key}`,
      expiring(`${GENERATION}:${key}`),
      [{ what: 'expiry', key, found: soon }],
    ],
  ),
  [
    'plants of another type',
    otherType(`${GENERATION}:plants`, 'string'),
    [{ what: 'wrongType', key: 'plants', expected: 'hash', found: 'string' }],
  ],
  [
    'an order of another type',
    otherType(`${GENERATION}:order`, 'set'),
    [{ what: 'wrongType', key: 'order', expected: 'list', found: 'set' }],
  ],
  [
    'a meta of another type',
    otherType(`${GENERATION}:meta`, 'string'),
    [{ what: 'wrongType', key: 'meta', expected: 'hash', found: 'string' }],
  ],
  [
    'parked of another type',
    otherType(`${GENERATION}:parked`, 'set'),
    [{ what: 'wrongType', key: 'parked', expected: 'hash', found: 'set' }],
  ],
  [
    'a filling pointer of another type',
    otherType('filling', 'set'),
    [{ what: 'wrongType', key: 'filling', expected: 'string', found: 'set' }],
  ],
]

async function openCorruptible() {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  log.write(P, LOG)
  await log.apply(P, LOG, GENERATION)
  return { ...log, at: log.at(P) }
}

/** Each way of cutting the work has to find the same. */
const CUTS = [500_000, 3]

it.each(CORRUPTIONS)('finds %s, and nothing else', async (_what, corrupt, expected) => {
  const { redis, at, verify } = await openCorruptible()
  for (const recordsAtOnceMax of CUTS)
    expect((await verify({ recordsAtOnceMax })).findings).toEqual({ kept: [], more: 0 })
  await corrupt(redis, at)
  for (const recordsAtOnceMax of CUTS) {
    const { findings } = await verify({ recordsAtOnceMax })
    expect(findings.more).toBe(0)
    expect(sorted(findings.kept)).toEqual(
      sorted(expected.map((difference) => ({ partition: P, generation: GENERATION, ...difference }))),
    )
  }
})

const sorted = (differences: readonly Difference[]) =>
  differences.toSorted((a, b) => (subjectOf(a) < subjectOf(b) ? -1 : 1))
const subjectOf = (difference: Difference) =>
  JSON.stringify([difference.what, 'id' in difference ? difference.id : ''])

it('finds an event at a checkpoint that should name none', async () => {
  const { redis, at, verify, write, apply } = await openCorruptible()
  const control = { records: [], next: { offset: offsetOf(7), eventId: '' as const } }
  write(P, control)
  await apply(P, control, GENERATION)
  expect((await verify()).findings).toEqual({ kept: [], more: 0 })
  await redis.hset(`${at}${GENERATION}:meta`, 'event', 'some')
  const found = { what: 'checkpointEvent', offset: offsetOf(7), expected: '', found: 'some' }
  expect((await verify()).findings.kept).toEqual([{ partition: P, generation: GENERATION, ...found }])
})

const aboutKeys: [
  what: string,
  corrupt: (redis: Redis, at: string) => Promise<unknown>,
  found: Difference[],
][] = [
  [
    'a pointer that names nothing',
    (redis, at) => redis.set(`${at}live`, 'nothing'),
    [
      { partition: P, generation: 'nothing', what: 'pointerDangling', key: 'live', found: 'nothing' },
      { partition: P, generation: GENERATION, what: 'leftover', found: GENERATION },
    ],
  ],
  [
    'no pointer',
    (redis, at) => redis.del(`${at}live`),
    [{ partition: P, generation: GENERATION, what: 'leftover', found: GENERATION }],
  ],
  [
    'a pointer of another type',
    otherType('live', 'set'),
    [
      { partition: P, generation: '', what: 'wrongType', key: 'live', expected: 'string', found: 'set' },
      { partition: P, generation: GENERATION, what: 'leftover', found: GENERATION },
    ],
  ],
  [
    'what a rebuild left over',
    (redis, at) => redis.rpush(`${at}old-one:order`, '1'),
    [{ partition: P, generation: 'old-one', what: 'leftover', found: 'old-one' }],
  ],
  ...['', ':other', ':live:', 'x'].map((rest): (typeof aboutKeys)[number] => [
    `a key with the end "${rest}" that belongs to nothing`,
    (redis, at) => redis.set(`${at.slice(0, -1)}${rest}`, 'x'),
    [{ what: 'strangeKey', found: expect.stringMatching(`}${rest}$`) as string }],
  ]),
  [
    'a key of a partition that there is not',
    (redis, at) => redis.set(at.replace(':0}', ':2}').concat('live'), 'x'),
    [{ what: 'strangeKey', found: expect.stringMatching(':2}:live$') as string }],
  ],
]

it.each(aboutKeys)('finds %s, and nothing else', async (_what, corrupt, expected) => {
  const { redis, at, verify } = await openCorruptible()
  await corrupt(redis, at)
  expect((await verify()).findings).toEqual({ kept: expected, more: 0 })
})

it('a store that nothing was written to is as it should be, and so is one whose projector has yet to begin', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  expect(await log.verify()).toMatchObject({
    findings: { kept: [], more: 0 },
    partitions: [{ generation: '', upTo: -1, end: 0 }, { generation: '' }],
  })
  log.write(P, LOG)
  expect(await log.verify()).toMatchObject({
    findings: { kept: [], more: 0 },
    partitions: [{ generation: '', upTo: -1, end: 7 }, { generation: '' }],
  })
})

describe('while others write', () => {
  const more = (from: number, count: number) => {
    const records = Array.from({ length: count }, (_, n): LogRecord => {
      // Every third of them claims the id of another one again.
      const record = claimAt(from + n, BigInt(1_000 + from + n - (n % 3 === 0 ? 200 : 0)))
      return n % 5 === 0 ? { ...record, parked: PARKED.unknownVersion } : record
    })
    return { records, next: checkpointAt((from + count - 1) as Offset, records) }
  }

  /** Whatever is done each time the log has been read, before what Redis holds is looked at. */
  const meanwhile = (log: Pick<VerifiedLog, 'read'>, work: () => Promise<void>) => ({
    recordsAtOnceMax: 900,
    async read(...args: Parameters<VerifierOptions['read']>): Promise<void> {
      await log.read(...args)
      await work()
    },
  })

  it('what comes in beyond the checkpoint is no difference', async () => {
    const log = await openVerifiedLog(inject('redisUrl'), 2)
    log.write(P, more(0, 2_000))
    await log.apply(P, more(0, 2_000), GENERATION)
    let from = 2_000
    const grow = async () => {
      log.write(P, more(from, 300))
      await log.apply(P, more(from, 300), GENERATION)
      from += 300
    }
    expect((await log.verify(meanwhile(log, grow))).findings).toEqual({ kept: [], more: 0 })
    expect(from).toBeGreaterThan(2_600)
    expect(await log.verify()).toMatchObject({ findings: { kept: [] }, partitions: [{ upTo: from - 1 }, {}] })
  })

  it('what was there before its time is counted, though later nobody can tell it from what came in', async () => {
    const log = await openVerifiedLog(inject('redisUrl'), 2)
    log.write(P, more(0, 20))
    await log.apply(P, more(0, 20), GENERATION)
    const early = more(20, 20)
    const { claim } = early.records[4] as Required<LogRecord>
    await log.redis.hset(`${log.at(P)}${GENERATION}:plants`, String(claim.id), encodeEntry(claim))
    await log.redis.hset(`${log.at(P)}${GENERATION}:parked`, '25', '5')
    log.write(P, early)
    const grow = () => log.apply(P, early, GENERATION)
    const { findings } = await log.verify({ ...meanwhile(log, grow), recordsAtOnceMax: 500_000 })
    const about = { partition: P, generation: GENERATION, what: 'size' }
    expect(findings.kept).toEqual([
      { ...about, of: 'plants', expected: '20', found: '21' },
      { ...about, of: 'parked', expected: '4', found: '5' },
    ])
  })

  it('a log that goes on while nothing is projected is no difference', async () => {
    const log = await openCorruptible()
    log.write(P, more(7, 50))
    expect(await log.verify()).toMatchObject({
      findings: { kept: [] },
      partitions: [{ upTo: 6, end: 57, plants: 5 }, {}],
    })
  })

  const switchOver = async ({ readModel }: Pick<VerifiedLog, 'readModel'>, name: string, dropped = true) => {
    const { generations } = readModel
    const { live } = await generations.pointers(P)
    await generations.begin(P, name)
    await generations.fill(P, name, { offset: offsetOf(-1), eventId: '' }, LOG.next, LOG.records)
    await generations.mark(P, name, 'mark')
    const call = { generation: name, mark: 'mark', expectedLive: live, verified: LOG.next.offset }
    expect(await generations.switchTo(P, call)).toEqual({ is: 'switched' })
    if (dropped) await generations.drop(P, live)
  }

  it('a partition whose live generation is exchanged is begun again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const once = async () => {
      if (turn++ === 0) await switchOver(log, 'next-one')
    }
    expect(await log.verify(meanwhile(log, once))).toMatchObject({
      findings: { kept: [], more: 0 },
      partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
    })
    expect(turn).toBeGreaterThan(1)
  })

  it('also while the one before is still there', async () => {
    const log = await openCorruptible()
    let turn = 0
    const once = async () => {
      if (turn++ === 0) await switchOver(log, 'next-one', false)
    }
    expect(await log.verify(meanwhile(log, once))).toMatchObject({
      findings: { kept: [{ what: 'leftover', found: GENERATION }], more: 0 },
      partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
    })
  })

  it('and given up when it is exchanged again and again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const verifying = log.verify(meanwhile(log, () => switchOver(log, `one-${turn++}`)))
    await expect(verifying).rejects.toThrow('partition 0 was exchanged 5 times')
  })

  it('what a rebuild drops right after its switch is not left over', async () => {
    const log = await openCorruptible()
    await log.redis.rpush(`${log.at}old-one:order`, '1')
    const time: Time = {
      now: () => 0,
      after(_ms, callback) {
        void log.readModel.generations.drop(P, 'old-one').then(callback)
        return () => undefined
      },
    }
    expect((await log.verify({ time })).findings).toEqual({ kept: [], more: 0 })
  })

  it('a partition that falls back is begun again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const fallBack = async () => {
      if (turn++ > 0) return
      await log.redis.del(await log.redis.keys(`${log.at}*`))
      const records = LOG.records.slice(0, 3)
      await log.apply(P, { records, next: checkpointAt(2 as Offset, records) }, GENERATION)
    }
    expect(await log.verify(meanwhile(log, fallBack))).toMatchObject({
      findings: { kept: [], more: 0 },
      partitions: [{ generation: GENERATION, upTo: 2 }, { generation: '' }],
    })
  })
})

it('keeps so many differences and counts the others', () => {
  const findings = noFindings()
  for (let n = 0; n < 5; n++) note(findings, { what: 'strangeKey', found: String(n) }, 3)
  expect(findings.kept.map((one) => 'found' in one && one.found)).toEqual(['0', '1', '2'])
  expect(countOf(findings)).toBe(5)
})
