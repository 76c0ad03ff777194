import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { batchOf, eventId } from '../../../tests/support/small-log.ts'
import { FIRST, type Offset, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { systemTime } from '../runtime/time.ts'
import { createDelivery } from './delivery.ts'
import { inMemory } from './first-claims/in-memory.ts'
import type { PlantRecord } from './plant-record.ts'

const P = 0 as Partition
const STORED = { offset: FIRST, key: null, value: null, headers: {}, timestampMs: 0 }
const at = (offset: number): Checkpoint => ({ offset: offset as Offset, eventId: eventId(offset) })

/** Records that each create a plant, from one offset to before another. */
function creations(from: number, end: number): PlantRecord[] {
  const ids = Array.from({ length: end - from }, (_, n) => BigInt(from + n))
  return batchOf(from, ids).records.map((record) => ({ ...record, stored: STORED }))
}

async function openDelivery(start = BEFORE_LOG, known = BEFORE_LOG) {
  const given: number[] = []
  const now = { ms: 0, mayContinue: true, working: 0, overlaps: 0, start, handle: () => nextTurn() }
  const firstClaims = await inMemory().open({ topic: 'plants', partitions: 1 })
  const delivery = createDelivery({
    firstClaims: { ...firstClaims, checkpointOf: async () => known },
    startOf: async () => now.start,
    async callHandler(_partition, { events }) {
      if (++now.working > 1) now.overlaps++
      await now.handle()
      given.push(...events.map(({ offset }) => offset))
      now.working--
    },
    batching: { maxEvents: 1, deliverParked: false },
    mayContinue: () => now.mayContinue,
    time: { ...systemTime, now: () => now.ms },
    log: quietLog,
  })
  return { ...delivery, given, now }
}

it('deliveries follow each other though two assignments overlap, and what one handed over the other does not', async () => {
  const { onRecords, checkpointOf, given, now, deliveredOf } = await openDelivery()
  const before = await checkpointOf(P)
  const old = onRecords(P, creations(0, 10), at(9), before)
  await nextTurn()
  const after = await checkpointOf(P)
  const fresh = onRecords(P, creations(after.offset + 1, 20), at(19), after)
  expect(await Promise.all([old, fresh])).toEqual([at(9), at(19)])
  expect(given).toEqual(Array.from({ length: 20 }, (_, offset) => offset))
  expect([now.overlaps, deliveredOf(P)]).toEqual([0, at(19)])
})

it('a delivery starts at the lower of two checkpoints only after the log is verified at the higher one', async () => {
  for (const [start, known] of [
    [at(7), BEFORE_LOG],
    [at(3), at(7)],
  ] as const) {
    const { onRecords, checkpointOf, given } = await openDelivery(start, known)
    const from = await checkpointOf(P)
    expect(from).toEqual(at(7))
    const low = await onRecords(P, creations(8, 10), at(9), from)
    expect(low).toEqual(start.offset < known.offset ? start : known)
    expect(given).toEqual([])
    await onRecords(P, creations(low.offset + 1, 10), at(9), low)
    expect(given).toEqual(Array.from({ length: 9 - start.offset }, (_, index) => start.offset + 1 + index))
  }
})

it('a delivery begins behind no gap when the group went on elsewhere, while an assignment from before was at work', async () => {
  const { onRecords, checkpointOf, given, now } = await openDelivery()
  const old = onRecords(P, creations(0, 5), at(4), await checkpointOf(P))
  while (given.length < 1) await nextTurn()
  now.start = at(9)
  const from = await checkpointOf(P)
  expect(from).toEqual(at(9))
  now.mayContinue = false
  await old
  now.mayContinue = true
  const low = await onRecords(P, creations(10, 12), at(11), from)
  expect(low.offset).toBeLessThan(5)
  await onRecords(P, creations(low.offset + 1, 12), at(11), low)
  expect(given.filter((offset) => offset > 4)).toEqual([10, 11])
})

it('a delivery ends between two events after a limited time: a slow handler delays the other partitions of its broker', async () => {
  const { onRecords, checkpointOf, given, now } = await openDelivery()
  now.handle = async () => {
    now.ms += 900
  }
  const reached = await onRecords(P, creations(0, 10), at(9), await checkpointOf(P))
  expect([reached, given]).toEqual([at(2), [0, 1, 2]])
})

it('a delivery names a handler that does not end, until it does', async () => {
  const { onRecords, checkpointOf, problems, now } = await openDelivery()
  const handled = Promise.withResolvers<void>()
  now.handle = () => handled.promise
  const taken = onRecords(P, creations(0, 1), at(0), await checkpointOf(P))
  while (now.working < 1) await nextTurn()
  now.ms += 300_000
  expect(problems()).toEqual([])
  now.ms += 1_000
  expect(problems()).toEqual(['partition 0: its handler has had offset 0 for 5 min 1 s: limit its time'])
  handled.resolve()
  await taken
  expect(problems()).toEqual([])
})
