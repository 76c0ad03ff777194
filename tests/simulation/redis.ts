import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ListedSpan } from '@plant-store/shared/protocol/list.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { refuse } from '@plant-store/shared/read-model/state.ts'
import type { SimulatedProcess } from './clock.ts'
import type { ProcessContext } from './process-context.ts'
import { applyScript, checkpointScript, listScript, lookUpScript, type PartitionKeys } from './redis-scripts.ts'

export type SimulatedReadModel = Pick<ReadModel, 'lookUp' | 'lookUpEach' | 'listEach' | 'meta' | 'apply'>

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
      const read = () => checkpointScript(keysOf(partition), process.redis.partitions.length)
      return (await network.call(process, `reading of checkpoint ${partition}`, [read]))[0]
    },

    async apply(partition, expected, next, records, freshGeneration) {
      const what = `apply of ${partition}-${expected.offset + 1}..${next.offset}`
      const apply = () => {
        const [keys, { length: partitions }] = [keysOf(partition), process.redis.partitions]
        const applied = applyScript(keys, { generation: '', expected, next, records, freshGeneration, partitions })
        rules.noteNames(keys)
        onApplied()
        return applied.is === 'gone' ? refuse('GONE') : applied
      }
      return (await network.call(process, what, [apply]))[0]
    },
  }
}
