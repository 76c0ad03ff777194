import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { MIN_INT64, plantWith } from '../../../tests/support/generated-plants.ts'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { batchOf, claimAt } from '../../../tests/support/small-log.ts'
import { asStored, dumpKeys, pointerOf, readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { MAX_TEXT_CODE_POINTS, type PlantId } from '../plant/plant.ts'
import { type LogRecord, PARKED } from '../plant/plant-created.ts'
import { BEFORE_FIRST, offsetOf, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import { emptyPartition, fold } from '../protocol/first-wins.ts'
import type { Reapplied } from './apply.ts'
import type { ReadModel } from './read-model.ts'

const PARTITIONS = 1_000
const P = 0 as Partition

async function openApplying() {
  const { topic, redis, apply, ...opened } = await openReadModel({ partitions: PARTITIONS })
  return {
    ...{ ...opened, topic, redis, apply, reapply: opened.readModel.generations.reapply },
    /** Applies a log. Returns the checkpoint after it. */
    async applyAll(batches: readonly LogBatch[], partition = P): Promise<Checkpoint> {
      let reached = BEFORE_LOG
      for (const batch of batches) reached = await apply(partition, reached, batch)
      return reached
    },
    stored: (partition = P) => readStoredPartition(redis, topic, partition),
  }
}

/** Records with the longest id, entry and parked text. A euro sign has most bytes of UTF-8 for a unit of UTF-16. */
const LONGEST = [2 ** 48 - 3, 2 ** 48 - 2].map((offset): LogBatch => {
  const text = '€'.repeat(MAX_TEXT_CODE_POINTS)
  const record = claimAt(offset, MIN_INT64, { plant: plantWith({ name: text, tag: text }) })
  const records = [offset % 2 === 0 ? record : { ...record, parked: PARKED.unreadablePayload }]
  return { records, next: checkpointAt(offsetOf(offset), records) }
})

/** Applies a batch with the result that the product gets. */
const tryTo = (readModel: ReadModel, from: Checkpoint, { next, records }: LogBatch) =>
  readModel.apply(P, from, next, records, randomUUID())

const foldOf = (batches: readonly LogBatch[]) =>
  fold(
    emptyPartition(),
    batches.flatMap(({ records }) => records),
  )

describe('applying a log to the read model', () => {
  it('leaves in Redis what the fold of that log is: plants, their order, parked offsets, counts and checkpoint', async () => {
    const { applyAll, stored } = await openApplying()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(logs, async (batches) => {
        fc.pre(batches.length > 0)
        const partition = runs++ as Partition
        const reached = await applyAll(batches, partition)
        expect(await stored(partition)).toEqual(asStored(foldOf(batches), reached, PARTITIONS))
      }),
      { numRuns: 250, examples: [[LONGEST]] },
    )
  })

  it('applies any number of records at once, also repeated ids', async () => {
    const { applyAll, stored } = await openApplying()
    // Many times what the script adds to the order by one call; ids come again near and far.
    const ids = Array.from({ length: 3_000 }, (_, index) => BigInt(index % 1_300))
    const others = Array.from({ length: 1_024 }, (_, index) => BigInt(5_000 + (index & ~1)))
    const batches = [batchOf(0, ids), batchOf(3_000, others)]
    const reached = await applyAll(batches)
    expect(await stored()).toEqual(asStored(foldOf(batches), reached, PARTITIONS))
  })
})

it.each(['hget', 'hlen', 'llen', 'set', 'hset', 'hsetnx', 'hincrby', 'rpush'])(
  'nothing is applied in part when Redis refuses the user %s',
  async (right) => {
    const { topic, redis, apply, stored } = await openApplying()
    const [first, second] = [batchOf(0, [1n, 2n]), batchOf(2, [3n, 1n])]
    const [username, password] = [`user-${randomUUID()}`, 'secret']
    await redis.call('ACL', 'SETUSER', username, 'on', `>${password}`, '~*', '+@all', `-${right}`)
    onTestFinished(async () => void (await redis.call('ACL', 'DELUSER', username)))
    const redisUrl = String(Object.assign(new URL(inject('redisUrl')), { username, password }))
    const { readModel } = await openReadModel({ topic, partitions: PARTITIONS, redisUrl })

    // Nothing, or a generation without plants.
    await expect(tryTo(readModel, BEFORE_LOG, first)).rejects.toThrow(/NOPERM|no permissions|can't run/)
    await apply(P, BEFORE_LOG, first)
    expect(await stored()).toEqual(asStored(foldOf([first]), first.next, PARTITIONS))
    if (right === 'set') return
    const before = await dumpKeys(redis, topic)
    await expect(tryTo(readModel, first.next, second)).rejects.toThrow(/NOPERM|no permissions|can't run/)
    expect(await dumpKeys(redis, topic)).toEqual(before)
    await apply(P, first.next, second)
    expect(await stored()).toEqual(asStored(foldOf([first, second]), second.next, PARTITIONS))
  },
)

// As after the failover of a master that had moved some keys of a slot.
it.each(['meta', 'plants', 'order'])('without its %s a generation is no fold: a fresh one replaces it', async (key) => {
  const { topic, readModel, redis, apply, stored, keyOf } = await openApplying()
  const at = await apply(P, BEFORE_LOG, batchOf(0, [1n, 2n]))
  const lost = await redis.get(pointerOf(topic, P))
  await redis.del(await keyOf(P, key))
  expect(await tryTo(readModel, at, batchOf(2, [1n]))).toEqual({ is: 'stale', checkpoint: BEFORE_LOG })
  const [found] = await readModel.lookUp([{ partition: P, ids: [1n as PlantId] }])
  expect(found).toEqual({ checkpoint: BEFORE_FIRST, entries: [undefined] })
  const [listed] = readModel.listEach([{ partition: P, from: 0, count: 2 }])
  expect(await listed).toEqual({ claims: [], plants: 0, checkpoint: BEFORE_FIRST })
  expect((await readModel.meta(P)).checkpoint).toEqual(BEFORE_LOG)

  const again = batchOf(0, [3n])
  await apply(P, BEFORE_LOG, again)
  expect(await redis.get(pointerOf(topic, P))).not.toBe(lost)
  expect(await stored()).toEqual(asStored(foldOf([again]), again.next, PARTITIONS))
})

/** The record as a release that knew less applied it. */
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
  const { apply, reapply, stored } = await openApplying()
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
