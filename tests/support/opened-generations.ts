import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { expect } from 'vitest'
import { openReadModel } from './opened-read-model.ts'
import { claimAt } from './small-log.ts'
import { dumpKeys } from './stored-partition.ts'

const PARTITIONS = 3
export const P = 1 as Partition

/** The generations of a separate topic, on a real Redis. */
export async function openGenerations(place: { redisUrl?: string } = {}) {
  const { topic, readModel, redis } = await openReadModel({ ...place, partitions: PARTITIONS })
  const { generations } = readModel
  const at = `{${topic}:${P}}:`
  return {
    ...{ topic, readModel, redis, generations, at },

    /** A live generation of this many plants. */
    async live(name: string, plants: number): Promise<Checkpoint> {
      const { records, next } = batch(0, plants)
      expect(await readModel.apply(P, BEFORE_LOG, next, records, name)).toEqual({ is: 'applied' })
      return next
    },

    /** A marked generation of this many plants that is being filled. */
    async filled(name: string, plants: number): Promise<Checkpoint> {
      const { records, next } = batch(0, plants)
      expect(await generations.startFilling(P, name)).toEqual({
        is: 'started',
        generation: name,
        checkpoint: BEFORE_LOG,
      })
      expect(await generations.fill(P, name, BEFORE_LOG, next, records)).toEqual({ is: 'applied' })
      expect(await generations.mark(P, name, 'mark')).toEqual({ is: 'marked' })
      return next
    },

    /** Whatever is done changes no key. */
    async expectUnchanged<T>(doing: () => Promise<T>): Promise<T> {
      const before = await dumpKeys(redis, topic)
      const result = await doing()
      expect(await dumpKeys(redis, topic)).toEqual(before)
      return result
    },
  }
}

/** Records from an offset on, a plant each; the event ids follow from the offsets, as those of one log. */
export function batch(first: number, count: number): { records: LogRecord[]; next: Checkpoint } {
  const records = Array.from({ length: count }, (_, n) => claimAt(first + n, BigInt(first + n)))
  return { records, next: checkpointAt((first + count - 1) as Offset, records) }
}
