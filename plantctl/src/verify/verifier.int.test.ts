import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { eventId, GENERATION, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { timeOf } from '../../../tests/support/verified-log.ts'
import { type Difference, noFindings, type Subject } from './difference.ts'

const claimOf = (id: bigint) => RECORDS.find(({ claim }) => claim?.id === id)?.claim as NonNullable<LogRecord['claim']>
const entry = (id: bigint, changed: Partial<NonNullable<LogRecord['claim']>> = {}) =>
  encodeEntry({ ...claimOf(id), ...changed })
const claimText = (id: bigint) => {
  const { offset, eventId, plant } = claimOf(id)
  return JSON.stringify({ offset, event: eventId, ...(plant ? textsOf(plant) : { unreadable: true }) })
}

const KEYS = ['meta', 'plants', 'order', 'parked'] as const

type Corruption = [what: string, corrupt: (redis: Redis, at: string) => Promise<unknown>, found: Difference[]]

const inPlants = (id: string, bytes: Buffer | string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:plants`, id, bytes)
const noEntry = (id: string) => (redis: Redis, at: string) => redis.hdel(`${at}${GENERATION}:plants`, id)
const inMeta = (field: string, text: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:meta`, field, text)
const inParked = (offset: string, reason: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:parked`, offset, reason)
const notParked = (offset: string) => (redis: Redis, at: string) => redis.hdel(`${at}${GENERATION}:parked`, offset)
const reordered =
  (...ids: string[]) =>
  async (redis: Redis, at: string) => {
    await redis.del(`${at}${GENERATION}:order`)
    await redis.rpush(`${at}${GENERATION}:order`, ...ids)
  }
const all =
  (...steps: Corruption[1][]) =>
  async (redis: Redis, at: string) => {
    for (const corrupt of steps) await corrupt(redis, at)
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
const changed = (id: bigint, field: string, expected: string | null, found: string | null): Subject => ({
  what: 'entryChanged',
  id: String(id),
  field,
  expected,
  found,
})
const soon = expect.stringMatching(/^\d+$/) as string

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
  [
    'another event',
    inPlants('2', entry(2n, { eventId: eventId(99) })),
    [changed(2n, 'eventId', eventId(1), eventId(99))],
  ],
  ['another offset', inPlants('2', entry(2n, { offset: offsetOf(3) })), [changed(2n, 'offset', '1', '3')]],
  ['an offset beyond the log', inPlants('2', entry(2n, { offset: offsetOf(99) })), [changed(2n, 'offset', '1', '99')]],
  [
    'another name',
    inPlants('2', entry(2n, { plant: plantWith({ name: 'x' }) })),
    [changed(2n, 'name', 'plant 2', 'x')],
  ],
  [
    'an added tag',
    inPlants('2', entry(2n, { plant: plantWith({ name: 'plant 2', tag: '' }) })),
    [changed(2n, 'tag', null, '')],
  ],
  [
    'a removed tag',
    inPlants('1', entry(1n, { plant: plantWith({ name: 'plant 1' }) })),
    [changed(1n, 'tag', 'herb', null)],
  ],
  [
    'another tag',
    inPlants('1', entry(1n, { plant: plantWith({ name: 'plant 1', tag: 'tree' }) })),
    [changed(1n, 'tag', 'herb', 'tree')],
  ],
  [
    'a readable event stored as unreadable',
    inPlants('2', entry(2n, { plant: undefined })),
    [changed(2n, 'readable', 'yes', 'no')],
  ],
  [
    'an unreadable event stored as readable',
    inPlants('3', entry(3n, { plant: plantWith({ name: 'x' }) })),
    [changed(3n, 'readable', 'no', 'yes')],
  ],
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
  [
    'two swapped ids in the order',
    reordered('1', '3', '2', '4', '5'),
    [{ what: 'orderMisplaced', id: '2', after: '3' }],
  ],
  [
    'two swapped ids that were created one after the other',
    reordered('1', '2', '3', '5', '4'),
    [{ what: 'orderMisplaced', id: '4', after: '5' }],
  ],
  ['an id missing from the order', reordered('1', '2', '4', '5'), [{ what: 'orderMissing', id: '3' }]],
  ['an extra id in the order', reordered('1', '2', '3', '9', '4', '5'), [{ what: 'orderExtra', id: '9' }]],
  ['an invalid id in the order', reordered('1', '2', 'x', '3', '4', '5'), [{ what: 'orderExtra', id: 'x' }]],
  ['an id twice in the order', reordered('1', '2', '3', '4', '2', '5'), [{ what: 'orderRepeated', id: '2' }]],
  [
    'an id in the order in place of another',
    reordered('1', '1', '3', '4', '5'),
    [
      { what: 'orderRepeated', id: '1' },
      { what: 'orderMissing', id: '2' },
    ],
  ],
  [
    'two ids in one element of the order, and an empty element',
    reordered('1,2', '', '3', '4', '5'),
    [
      ...['1,2', ''].map((id) => ({ what: 'orderExtra', id }) as const),
      ...['1', '2'].map((id) => ({ what: 'orderMissing', id }) as const),
    ],
  ],
  [
    'a plant under another id, in the order and among the entries',
    all(noEntry('2'), inPlants('9', entry(2n)), reordered('1', '9', '3', '4', '5')),
    [
      { what: 'orderExtra', id: '9' },
      { what: 'orderMissing', id: '2' },
      { what: 'entryMissing', id: '2', expected: claimText(2n) },
      { what: 'entryExtra', id: '9', found: claimText(2n) },
    ],
  ],
  [
    'no order',
    (redis, at) => redis.del(`${at}${GENERATION}:order`),
    ['1', '2', '3', '4', '5'].map((id) => ({ what: 'orderMissing', id })),
  ],
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
  [
    'a missing parked record',
    notParked('3'),
    [{ what: 'parkedMissing', offset: '3', expected: String(PARKED.otherType) }],
  ],
  ['an extra parked record', inParked('1', '2'), [{ what: 'parkedExtra', offset: '1', found: '2' }]],
  ['a record parked after the checkpoint', inParked('50', '2'), [{ what: 'parkedExtra', offset: '50', found: '2' }]],
  ['a record parked at an invalid offset', inParked('03', '1'), [{ what: 'parkedExtra', offset: '03', found: '1' }]],
  ...['NaN', '1000', '3.0'].map(
    (offset): Corruption => [
      `a record parked at ${offset} in place of a valid one`,
      all(notParked('3'), inParked(offset, '2')),
      [
        { what: 'parkedMissing', offset: '3', expected: String(PARKED.otherType) },
        { what: 'parkedExtra', offset, found: '2' },
      ],
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
  ['an expiry of the pointer', expiring('live'), [{ what: 'expiry', key: 'live', found: soon }]],
  ...KEYS.map(
    (key): Corruption => [
      `an expiry of ${key}`,
      expiring(`${GENERATION}:${key}`),
      [{ what: 'expiry', key, found: soon }],
    ],
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
      otherType(key === 'filling' ? key : `${GENERATION}:${key}`, found),
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
  [
    'a missing live pointer',
    (redis, at) => redis.del(`${at}live`),
    [{ what: 'leftover', found: GENERATION }, noGeneration],
  ],
  [
    'a partition without any key',
    (redis, at) => redis.del(...['live', ...KEYS.map((key) => `${GENERATION}:${key}`)].map((key) => at + key)),
    [noGeneration],
  ],
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
