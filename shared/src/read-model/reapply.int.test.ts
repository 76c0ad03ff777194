import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { batchOf, claimAt } from '../../../tests/support/small-log.ts'
import { readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { type LogRecord, PARKED } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'
import type { Reapplied } from './apply.ts'

const PARTITIONS = 1_000
const P = 0 as Partition

async function openReapplying() {
  const { topic, readModel, redis, apply, keyOf } = await openReadModel({ partitions: PARTITIONS })
  const stored = (partition: Partition) => readStoredPartition(redis, topic, partition)
  return { topic, redis, apply, stored, keyOf, reapply: readModel.generations.reapply }
}

/** What a release that knew less made of a record: it could not read what it says, or only in another way. */
function asOlder(record: LogRecord, isRead: boolean): LogRecord {
  const { offset, claim } = record
  if (claim === undefined || isRead) return record
  return { offset, claim: { ...claim, plant: undefined }, parked: PARKED.unknownVersion }
}

type Turn = { batch: LogBatch; older: LogBatch; again: boolean }

/** The log as two releases read it, and after which batches what is parked so far is put into place. */
const upgrades = fc
  .tuple(logs, fc.infiniteStream(fc.boolean()), fc.infiniteStream(fc.boolean()))
  .map(([batches, reads, agains]) =>
    batches.map((batch): Turn => {
      const records = batch.records.map((record) => asOlder(record, reads.next().value))
      return { batch, older: { ...batch, records }, again: agains.next().value }
    }),
  )

function parkedOf(turns: readonly Turn[]): Reapplied[] {
  return turns.flatMap(({ batch, older }) =>
    older.records.flatMap(({ parked }, n) =>
      parked === undefined ? [] : [{ was: parked, record: batch.records[n] as LogRecord }],
    ),
  )
}

it('a later release reapplies unreadable records exactly as it would have folded them', async () => {
  const { apply, reapply, stored } = await openReapplying()
  let runs = 0
  let changes = 0
  await fc.assert(
    fc.asyncProperty(upgrades, async (turns) => {
      const [old, fresh] = [runs++ as Partition, runs++ as Partition]
      let from = BEFORE_LOG
      for (const [n, { batch, older, again }] of turns.entries()) {
        await apply(old, from, older)
        await apply(fresh, from, batch)
        from = batch.next
        // The projector continues meanwhile; entries put into place before are left alone.
        if (again) changes += await reapply(old, parkedOf(turns.slice(0, n + 1)))
      }
      await reapply(old, parkedOf(turns).reverse())
      expect(await stored(old)).toEqual(await stored(fresh))
      expect(await reapply(old, parkedOf(turns))).toBe(0)
      expect(await stored(old)).toEqual(await stored(fresh))
    }),
  )
  expect(changes).toBeGreaterThan(0)
})

it('a readable entry does not change, whatever is parked at its offset', async () => {
  const { redis, apply, keyOf, reapply, stored } = await openReapplying()
  await apply(P, BEFORE_LOG, batchOf(0, [7n]))
  const { plants } = await stored(P)
  await redis.hset(await keyOf(P, 'parked'), '0', PARKED.unknownVersion)

  const record = claimAt(0, 7n, { plant: plantWith({ name: 'oak' }) })
  expect(await reapply(P, [{ was: PARKED.unknownVersion, record }])).toBe(1)
  expect((await stored(P)).plants).toEqual(plants)
})

it('reapplies nothing in an empty read model', async () => {
  const { topic, redis, reapply } = await openReapplying()
  const [record] = [{ offset: 0, parked: PARKED.otherType } as LogRecord]
  expect(await reapply(P, [{ was: PARKED.unknownVersion, record }])).toBe(0)
  expect(await redis.keys(`{${topic}:*`)).toEqual([])
})
