import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import type { Redis } from 'ioredis'
import { expect, inject, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { eventId, GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'
import { addDifference, type Difference, noFindings, type Subject } from './difference.ts'

const claimOf = (id: bigint) => RECORDS.find(({ claim }) => claim?.id === id)?.claim as NonNullable<LogRecord['claim']>
const entry = (id: bigint, changed: Partial<NonNullable<LogRecord['claim']>> = {}) =>
  encodeEntry({ ...claimOf(id), ...changed })
const claimText = (id: bigint) => {
  const { offset, eventId, plant } = claimOf(id)
  return JSON.stringify({ offset, event: eventId, ...(plant ? textsOf(plant) : { unreadable: true }) })
}

const KEYS = ['meta', 'plants', 'order', 'parked'] as const

type Corruption = [what: string, corrupt: (redis: Redis, at: string) => Promise<unknown>, found: Subject[]]

const inPlants = (id: string, bytes: Buffer | string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:plants`, id, bytes)
const inMeta = (field: string, text: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:meta`, field, text)
const inParked = (offset: string, reason: string) => (redis: Redis, at: string) =>
  redis.hset(`${at}${GENERATION}:parked`, offset, reason)
const reordered =
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
const changed = (id: bigint, field: string, expected: string | null, found: string | null): Subject => ({
  what: 'entryChanged',
  id: String(id),
  field,
  expected,
  found,
})
const soon = expect.stringMatching(/^\d+$/) as string

const CORRUPTIONS: Corruption[] = [
  [
    'an entry is missing',
    (redis, at) => redis.hdel(`${at}${GENERATION}:plants`, '2'),
    [{ what: 'entryMissing', id: '2', expected: claimText(2n) }],
  ],
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
    'an invalid entry',
    inPlants('2', Buffer.from([9, 9])),
    [{ what: 'entryUndecodable', id: '2', expected: claimText(2n) }],
  ],
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
    (redis, at) => redis.hdel(`${at}${GENERATION}:parked`, '3'),
    [{ what: 'parkedMissing', offset: '3', expected: String(PARKED.otherType) }],
  ],
  ['an extra parked record', inParked('1', '2'), [{ what: 'parkedExtra', offset: '1', found: '2' }]],
  ['a record parked after the checkpoint', inParked('50', '2'), [{ what: 'parkedExtra', offset: '50', found: '2' }]],
  ['a record parked at an invalid offset', inParked('03', '1'), [{ what: 'parkedExtra', offset: '03', found: '1' }]],
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
]

/** One slice and several have to find the same. */
const LIMITS = [500_000, 3]

it.each(CORRUPTIONS)('finds %s, and nothing else', async (_what, corrupt, expected) => {
  const { redis, at, verify } = await openCorruptible()
  for (const recordsAtOnceMax of LIMITS) expect((await verify({ recordsAtOnceMax })).findings).toEqual(noFindings())
  await corrupt(redis, at)
  for (const recordsAtOnceMax of LIMITS) {
    const { findings } = await verify({ recordsAtOnceMax })
    expect(findings.more).toBe(0)
    expect(sorted(findings.listed)).toEqual(
      sorted(expected.map((difference) => ({ partition: P, generation: GENERATION, ...difference }))),
    )
  }
})

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

const noGeneration: Difference = { partition: P, generation: '', what: 'noGeneration', end: offsetOf(7) }
const KEY_CORRUPTIONS: [what: string, corrupt: (redis: Redis, at: string) => Promise<unknown>, found: Difference[]][] =
  [
    [
      'a live pointer to a missing generation',
      (redis, at) => redis.set(`${at}live`, 'nothing'),
      [
        { partition: P, generation: 'nothing', what: 'pointerDangling', key: 'live', found: 'nothing' },
        { partition: P, generation: GENERATION, what: 'leftover', found: GENERATION },
      ],
    ],
    [
      'a missing live pointer',
      (redis, at) => redis.del(`${at}live`),
      [{ partition: P, generation: GENERATION, what: 'leftover', found: GENERATION }, noGeneration],
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
        { partition: P, generation: '', what: 'wrongType', key: 'live', expected: 'string', found: 'set' },
        { partition: P, generation: GENERATION, what: 'leftover', found: GENERATION },
        noGeneration,
      ],
    ],
    [
      'a leftover of a rebuild',
      (redis, at) => redis.rpush(`${at}old-one:order`, '1'),
      [{ partition: P, generation: 'old-one', what: 'leftover', found: 'old-one' }],
    ],
    ...['', ':other', ':live:', 'x'].map((rest): (typeof KEY_CORRUPTIONS)[number] => [
      `a key with the end "${rest}" that belongs to nothing`,
      (redis, at) => redis.set(`${at.slice(0, -1)}${rest}`, 'x'),
      [{ what: 'strangeKey', found: expect.stringMatching(`}${rest}$`) as string }],
    ]),
    [
      'a key of a partition that does not exist',
      (redis, at) => redis.set(at.replace(':0}', ':2}').concat('live'), 'x'),
      [{ what: 'strangeKey', found: expect.stringMatching(':2}:live$') as string }],
    ],
  ]

it.each(KEY_CORRUPTIONS)('finds %s, and nothing else', async (_what, corrupt, expected) => {
  const { redis, at, verify } = await openCorruptible()
  await corrupt(redis, at)
  const { listed, more } = (await verify()).findings
  expect([listed, more]).toEqual([expected, 0])
})

it('finds no difference in a store without records, and one in a store whose log was never folded', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  expect(await log.verify()).toMatchObject({
    findings: { listed: [], more: 0 },
    partitions: [{ generation: '', upTo: -1, end: 0 }, { generation: '' }],
  })
  log.write(P, LOG)
  expect(await log.verify()).toMatchObject({
    findings: { listed: [noGeneration], more: 0 },
    partitions: [{ generation: '', upTo: -1, end: 7 }, { generation: '' }],
  })
})

it('lists a limited number of differences and counts the others', () => {
  const findings = noFindings()
  for (let n = 0; n < 5; n++) addDifference(findings, { what: 'strangeKey', found: String(n) }, 3)
  expect(findings.listed.map((one) => 'found' in one && one.found)).toEqual(['0', '1', '2'])
  expect(findings.listed.length + findings.more).toBe(5)
})
