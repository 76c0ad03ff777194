import { offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { claimAt, GENERATION, LOG, openCorruptible, P } from '../../../tests/support/small-log.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'
import type { GenerationReader } from './compare.ts'
import type { Difference } from './difference.ts'
import { countsOf, verifyGeneration } from './generation-comparison.ts'

type Generations = Awaited<ReturnType<typeof openCorruptible>>['readModel']['generations']

const WHOLE = { index: 0, count: 1 }
const spanSizes = fc.constantFrom(1, 2, 512)

/** Folds a log and compares the generation with it, as a rebuild does. */
async function compare(generations: Generations, log: readonly LogBatch[], plantsPerSpan = 512) {
  const folded = emptyPartitionOf(createPackedClaims({ plantsPerSpan }))
  for (const { records, next } of log) Object.assign(fold(folded, records), { checkpoint: next })
  const { checkpoint } = folded
  const state = await generations.state(P, GENERATION)
  const snapshot = { partition: P, checkpoint, slice: WHOLE, fold: folded, counts: countsOf(folded), state }
  const read = () => Promise.reject(new Error('the log is read without a need'))
  return (changes: Partial<GenerationReader> = {}): Promise<Difference[]> =>
    verifyGeneration({ ...generations, ...changes }, snapshot, { partitions: 2, read, onRead() {} })
}

/** Equal bytes and sizes prove a generation: no plant is decoded, and its entries are not scanned. */
const BY_BYTES: Partial<GenerationReader> = {
  order: () => Promise.reject(new Error('read without a need')),
  plants: () => {
    throw new Error('scanned without a need')
  },
}

it('the fold of any log matches, also when the generation has grown since', async () => {
  const log = await openVerifiedLog()
  await fc.assert(
    fc.asyncProperty(logs, spanSizes, fc.nat(), async (batches, plantsPerSpan, choice) => {
      await log.empty()
      const upTo = choice % (batches.length + 1)
      for (const batch of batches.slice(0, upTo)) await log.apply(P, batch, GENERATION)
      const differences = await compare(log.readModel.generations, batches.slice(0, upTo), plantsPerSpan)
      for (const batch of batches.slice(upTo)) await log.apply(P, batch, GENERATION)
      if (upTo > 0) expect(await differences(BY_BYTES)).toEqual([])
    }),
    { numRuns: 100 },
  )
})

it('finds an entry that another program adds while spans are read', async () => {
  const { readModel, redis, at } = await openCorruptible()
  const { generations } = readModel
  const differences = await compare(generations, [LOG])
  const span: GenerationReader['span'] = async (...args) => {
    const packed = await generations.span(...args)
    await redis.hset(`${at}${GENERATION}:plants`, '77', 'anything')
    return packed
  }
  expect(await differences({ span })).toContainEqual(expect.objectContaining({ what: 'entryExtra', id: '77' }))
})

const PLANTS = 1_025
/** Some have texts of the maximal length, so that the buffer of a span grows, and a response has some 100 KiB. */
const LONGEST = plantWith({ name: '🌱'.repeat(1_000), tag: '🌱'.repeat(1_000) })
const records = Array.from({ length: PLANTS }, (_, at) =>
  claimAt(at, at % 2 === 0 ? 2n ** 63n - 1n - BigInt(at) : BigInt(at) - 2n ** 63n, {
    plant: at % 40 === 31 ? LONGEST : at % 7 === 0 ? undefined : plantWith({ name: `plant ${at}` }),
  }),
)
const log = { records, next: checkpointAt(offsetOf(PLANTS - 1), records) }

it('more plants than one span has are all read, on both sides of the border between spans', async () => {
  const { apply, at, readModel, redis } = await openVerifiedLog()
  await apply(P, log, GENERATION)
  const differences = async (reader = {}) => (await compare(readModel.generations, [log]))(reader)
  const [plants, ids] = [`${at(P)}${GENERATION}:plants`, `${at(P)}${GENERATION}:order`]
  expect(await differences(BY_BYTES)).toEqual([])
  for (const place of [0, 511, 512, 1_023, 1_024]) {
    const id = String(records[place]?.claim?.id)
    const entry = (await redis.hgetBuffer(plants, id)) as Buffer
    const changed = Buffer.from(entry)
    changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
    await redis.hset(plants, id, changed)
    expect(await differences()).not.toEqual([])
    await redis.hset(plants, id, entry)
    await redis.lset(ids, place, '5')
    expect(await differences()).not.toEqual([])
    await redis.lset(ids, place, id)
  }
  expect(await differences(BY_BYTES)).toEqual([])
})
