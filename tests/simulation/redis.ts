import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ListedSpan } from '@plant-store/shared/protocol/list.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { refuse } from '@plant-store/shared/read-model/state.ts'
import type { RebuildOptions } from '../../plantctl/src/rebuild/rebuild-options.ts'
import type { SimulatedProcess } from './clock.ts'
import type { ProcessContext } from './process-context.ts'
import * as scripts from './redis-scripts.ts'

/** Small, so that a failover can come between two batches. */
const BATCH = 3

export type SimulatedReadModel = Pick<ReadModel, 'lookUp' | 'lookUpEach' | 'listEach' | 'meta' | 'apply'> & {
  generations: RebuildOptions['generations']
}

/** The read model for one process: each script call goes over the network to the server it is connected to. */
export function connectReadModel(
  process: SimulatedProcess,
  { network, rules, onApplied }: ProcessContext,
): SimulatedReadModel {
  const keysOf = (partition: Partition) => scripts.keysOf(process.redis, partition)
  const partitions = () => process.redis.length

  const call = <T>(what: string, partition: Partition, script: (keys: scripts.PartitionKeys) => T): Promise<T> =>
    network.call(process, what, () => script(keysOf(partition)))

  /** A call that must neither change the live generation nor recreate a dropped one. */
  const watched: typeof call = (what, partition, script) =>
    call(what, partition, (keys) => rules.watch(keys, () => script(keys)))

  const lookUp: ReadModel['lookUp'] = (requests) =>
    network.callAll(
      process,
      `look-up of ${requests.flatMap(({ ids }) => ids as readonly PlantId[]).join(', ')}`,
      requests.map(
        ({ partition, ids }) =>
          () =>
            scripts.lookUpScript(keysOf(partition), ids),
      ),
    )

  /** Batch by batch, by index: elements that exist all the time are returned, whatever is added. */
  async function* batches<T>(
    partition: Partition,
    name: string,
    what: 'plants' | 'parked',
    read: (generation: scripts.Generation) => Iterable<T>,
  ): AsyncGenerator<T[]> {
    for (let from = 0; ; from += BATCH) {
      const found = await call(`reading of ${what} of ${name}`, partition, ({ generations }) => {
        rules.reads(process, partition, name, what)
        const generation = generations.get(name)
        return generation === undefined ? [] : [...read(generation)].slice(from, from + BATCH)
      })
      if (found.length > 0) yield found
      if (found.length < BATCH) return
    }
  }

  const generations: RebuildOptions['generations'] = {
    startFilling: (partition, freshName) =>
      watched(`begin of ${partition}`, partition, (keys) => scripts.beginScript(keys, freshName, partitions())),

    fill: (partition, generation, expected, next, records) =>
      watched(`fill of ${generation} from ${expected.offset + 1} to ${next.offset}`, partition, (keys) => {
        const given = { generation, expected, next, records, freshGeneration: '' }
        return scripts.applyScript(keys, { ...given, partitions: partitions() })
      }),

    mark: (partition, generation, mark) =>
      watched(`mark ${mark} of ${generation}`, partition, (keys) => {
        const marked = scripts.markScript(keys, generation, mark)
        if (marked.is === 'marked') rules.marked(process, partition, mark)
        return marked
      }),

    state: (partition, generation) =>
      call(`state of ${partition} ${generation}`, partition, (keys) => scripts.stateScript(keys, generation ?? '')),

    switchTo: (partition, request) =>
      call(`switch of ${partition} to ${request.generation}`, partition, (keys) => {
        const result = rules.switchTo(keys, request, () => scripts.switchScript(keys, request))
        onApplied()
        return result
      }),

    drop: (partition, generation, options) =>
      watched(`drop of ${generation}`, partition, (keys) =>
        scripts.dropScript(keys, generation, options?.abandon ?? false),
      ),

    list: () =>
      network.call(process, 'list of generations', () => ({
        partitions: process.redis.map(({ live, filling, generations }, n) => ({
          ...{ partition: n as Partition, live, filling },
          names: [...generations.keys()].sort(),
        })),
        strange: [],
      })),

    async *plants(partition, name) {
      for await (const found of batches(partition, name, 'plants', ({ plants }) => plants))
        yield found.map(([id, claim]) => ({ id: String(id), claim }))
    },

    entries: (partition, name, ids) =>
      call(`reading of entries of ${name}`, partition, ({ generations }) =>
        ids.flatMap((id) => {
          const claim = generations.get(name)?.plants.get(BigInt(id) as PlantId)
          return claim === undefined ? [] : [{ id, claim }]
        }),
      ),

    order: (partition, name, from, count) =>
      call(`reading of order of ${name}`, partition, ({ generations }) => {
        rules.reads(process, partition, name, 'order')
        return (generations.get(name)?.order ?? []).slice(from, from + count).map(String)
      }),

    span: (partition, name, from, count) =>
      call(`reading of ${name} from ${from}`, partition, (keys) => {
        rules.reads(process, partition, name, 'plants')
        rules.reads(process, partition, name, 'order')
        return scripts.spanScript(keys, name, from, count)
      }),

    async *parked(partition, name) {
      for await (const found of batches(partition, name, 'parked', ({ parked }) => parked))
        yield found.map(([offset, reason]) => [String(offset), String(reason)])
    },
  }

  return {
    generations,
    lookUp,

    lookUpEach: (requests) =>
      requests.map(async (request) => {
        const [found] = await lookUp([request])
        return found as PartitionLookUp
      }),

    listEach(requests) {
      const names = requests.map(
        ({ partition, from, count }) => `${partition} from plant ${from} to ${from + count - 1}`,
      )
      const listed = network.callAll(
        process,
        `listing of ${names.join(', ')}`,
        requests.map(
          ({ partition, ...span }) =>
            () =>
              scripts.listScript(keysOf(partition), span),
        ),
      )
      return requests.map(async (_, n) => (await listed)[n] as ListedSpan)
    },

    meta: (partition) =>
      call(`reading of checkpoint ${partition}`, partition, (keys) => scripts.checkpointScript(keys, partitions())),

    apply: (partition, expected, next, records, freshGeneration) =>
      call(`apply of ${partition}-${expected.offset + 1}..${next.offset}`, partition, (keys) => {
        const given = { generation: '', expected, next, records, freshGeneration }
        const applied = scripts.applyScript(keys, { ...given, partitions: partitions() })
        rules.noteNames(keys)
        onApplied()
        return applied.is === 'gone' ? refuse('GONE') : applied
      }),
  }
}
