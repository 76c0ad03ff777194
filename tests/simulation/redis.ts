import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ListedSpan } from '@plant-store/shared/protocol/list.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { SimulatedProcess } from './clock.ts'
import type { ProcessContext } from './process-context.ts'
import {
  applyScript,
  checkpointScript,
  listScript,
  lookUpScript,
  type PartitionKeys,
  type Refusal,
} from './redis-scripts.ts'

export const FOLD_VERSION = 1

export type SimulatedReadModel = Pick<ReadModel, 'lookUp' | 'lookUpEach' | 'listEach' | 'meta' | 'apply'>

const newerFold = () => new PreconditionError('folded by a newer release')

/** Throws as the product does for a refusal. */
export function unlessRefused<T extends { is: string }>(outcome: T | Refusal): T {
  if (!('found' in outcome)) return outcome
  throw outcome.is === 'FOLD' ? newerFold() : new PreconditionError('folded from a topic of another size')
}

/** The read model for one process: each script call goes over the network to the server it is connected to. */
export function connectReadModel(
  process: SimulatedProcess,
  { network, rules, onApplied }: ProcessContext,
): SimulatedReadModel {
  const keysOf = (partition: Partition) => process.redis.partitions[partition] as PartitionKeys
  const lookUp: SimulatedReadModel['lookUp'] = (requests) =>
    network.call(
      process,
      `look-up of ${requests.flatMap(({ ids }) => ids as readonly PlantId[]).join(', ')}`,
      requests.map(
        ({ partition, ids }) =>
          () =>
            lookUpScript(keysOf(partition), ids),
      ),
    )
  return {
    lookUp,

    lookUpEach: (requests) =>
      requests.map(async (request) => {
        const [found] = await lookUp([request])
        return found as PartitionLookUp
      }),

    listEach(requests) {
      const listed = network.call(
        process,
        `listing of ${requests.map(({ partition, from, count }) => `${partition} from plant ${from} to ${from + count - 1}`).join(', ')}`,
        requests.map(
          ({ partition, ...span }) =>
            () =>
              listScript(keysOf(partition), span),
        ),
      )
      return requests.map(async (_, n) => (await listed)[n] as ListedSpan)
    },

    async meta(partition) {
      const [meta] = await network.call(process, `reading of checkpoint ${partition}`, [
        () => checkpointScript(keysOf(partition)),
      ])
      if ((meta.fold ?? FOLD_VERSION) > FOLD_VERSION) throw newerFold()
      return meta
    },

    async apply(partition, expected, next, records, freshGeneration) {
      const what = `apply of ${partition}-${expected.offset + 1}..${next.offset}`
      const [outcome] = await network.call(process, what, [
        () => {
          const { partitions } = process.redis
          const call = { expected, next, records, freshGeneration, partitions: partitions.length }
          const keys = keysOf(partition)
          const applied = applyScript(keys, { ...call, generation: '', foldVersion: FOLD_VERSION })
          rules.noteNames(keys)
          onApplied()
          return applied
        },
      ])
      const result = unlessRefused(outcome)
      if (result.is === 'gone') throw new Error('the live generation is gone')
      return result
    },
  }
}
