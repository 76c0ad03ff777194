import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Life } from './life.ts'
import type { Network } from './network.ts'
import type { RebuildRules } from './rebuild-rules.ts'
import {
  applyScript,
  checkpointScript,
  copyKeys,
  emptyKeys,
  listScript,
  lookUpScript,
  type PartitionKeys,
} from './redis-scripts.ts'

export const FOLD_VERSION = 1

/** One Redis server: what it holds of each partition. */
export type RedisServer = { partitions: PartitionKeys[] }

export function emptyServer(partitions: number): RedisServer {
  return { partitions: Array.from({ length: partitions }, emptyKeys) }
}

export function copyServer({ partitions }: RedisServer): RedisServer {
  return { partitions: partitions.map(copyKeys) }
}

export type SimulatedReadModel = Pick<ReadModel, 'lookUp' | 'list' | 'meta' | 'apply'>

/** As read-model.ts does. */
export function refuse(fold: number | undefined, partitions: number | undefined, server: RedisServer): void {
  if (fold !== undefined && fold > FOLD_VERSION) throw new PreconditionError('folded by a newer release')
  if (partitions !== undefined && partitions !== server.partitions.length)
    throw new PreconditionError('folded from a topic of another size')
}

/** The read model as one process has it: each script goes over the network to the server it is connected to. */
export function connectReadModel(
  life: Life,
  network: Network,
  rules: RebuildRules,
  onApplied: () => void,
): SimulatedReadModel {
  const keysOf = (partition: Partition) => life.redis.partitions[partition] as PartitionKeys
  return {
    lookUp: (asked) =>
      network.call(
        life,
        `look-up of ${asked.flatMap(({ ids }) => ids as readonly PlantId[]).join(', ')}`,
        asked.map(
          ({ partition, ids }) =>
            () =>
              lookUpScript(keysOf(partition), ids),
        ),
      ),

    list: (asked) =>
      network.call(
        life,
        `listing of ${asked.map(({ partition, from, count }) => `${partition} from plant ${from} to ${from + count - 1}`).join(', ')}`,
        asked.map(
          ({ partition, ...span }) =>
            () =>
              listScript(keysOf(partition), span),
        ),
      ),

    async meta(partition) {
      const [meta] = await network.call(life, `reading of checkpoint ${partition}`, [
        () => checkpointScript(keysOf(partition)),
      ])
      refuse(meta?.fold, meta?.partitions, life.redis)
      return meta as NonNullable<typeof meta>
    },

    async apply(partition, expected, next, records, freshGeneration) {
      const what = `apply of ${partition}-${expected.offset + 1}..${next.offset}`
      const [outcome] = await network.call(life, what, [
        () => {
          const { partitions } = life.redis
          const call = { expected, next, records, freshGeneration, partitions: partitions.length }
          const keys = keysOf(partition)
          const applied = applyScript(keys, { ...call, generation: '', foldVersion: FOLD_VERSION })
          rules.noteNames(keys)
          onApplied()
          return applied
        },
      ])
      if (outcome?.is === 'FOLD') refuse(outcome.version, undefined, life.redis)
      if (outcome?.is === 'PARTITIONS') refuse(undefined, outcome.count, life.redis)
      if (outcome?.is === 'STALE') return { is: 'stale', checkpoint: outcome.checkpoint }
      if (outcome?.is !== 'OK') throw new Error(`not applied: ${outcome?.is}`)
      return { is: 'applied' }
    },
  }
}
