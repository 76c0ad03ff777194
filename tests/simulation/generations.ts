import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { RebuildOptions } from '../../plantctl/src/rebuild/rebuild-options.ts'
import type { SimulatedProcess } from './clock.ts'
import { beginScript, dropScript, markScript, spanScript, stateScript, switchScript } from './generation-scripts.ts'
import type { ProcessContext } from './process-context.ts'
import { applyScript, type Generation, type PartitionKeys } from './redis-scripts.ts'

/** Small, so that a failover can come between two batches. */
const BATCH = 3

/** The generations for one process: each script call goes over the network to the server it is connected to. */
export function connectGenerations(
  process: SimulatedProcess,
  { network, rules, onApplied }: ProcessContext,
): RebuildOptions['generations'] {
  const keysOf = (partition: Partition) => process.redis.partitions[partition] as PartitionKeys
  const partitions = () => process.redis.partitions.length

  async function callScript<T>(what: string, script: () => T): Promise<T> {
    const [result] = await network.call(process, what, [script])
    return result
  }

  /** Batch by batch, by index: elements that exist all the time are returned, whatever is added. */
  async function* batches<T>(
    partition: Partition,
    name: string,
    what: 'plants' | 'parked',
    read: (generation: Generation) => Iterable<T>,
  ): AsyncGenerator<T[]> {
    for (let from = 0; ; from += BATCH) {
      const found = await callScript(`reading of ${what} of ${name}`, () => {
        rules.reads(process, partition, name, what)
        const generation = keysOf(partition).generations.get(name)
        return generation === undefined ? [] : [...read(generation)].slice(from, from + BATCH)
      })
      if (found.length > 0) yield found
      if (found.length < BATCH) return
    }
  }

  return {
    startFilling: (partition, freshName) =>
      callScript(`begin of ${partition}`, () => {
        const keys = keysOf(partition)
        return rules.watch(keys, () => beginScript(keys, freshName, partitions()))
      }),

    fill: (partition, generation, expected, next, records) =>
      callScript(`fill of ${generation} from ${expected.offset + 1} to ${next.offset}`, () => {
        const keys = keysOf(partition)
        const call = { generation, expected, next, records, freshGeneration: '', partitions: partitions() }
        return rules.watch(keys, () => applyScript(keys, call))
      }),

    mark: (partition, generation, mark) =>
      callScript(`mark ${mark} of ${generation}`, () => {
        const keys = keysOf(partition)
        const marked = rules.watch(keys, () => markScript(keys, generation, mark))
        if (marked.is === 'marked') rules.marked(process, partition, mark)
        return marked
      }),

    state: (partition, generation) =>
      callScript(`state of ${partition} ${generation}`, () => stateScript(keysOf(partition), generation ?? '')),

    switchTo: (partition, call) =>
      callScript(`switch of ${partition} to ${call.generation}`, () => {
        const keys = keysOf(partition)
        const result = rules.switchTo(keys, call, () => switchScript(keys, call))
        onApplied()
        return result
      }),

    drop: (partition, generation, options) =>
      callScript(`drop of ${generation}`, () => {
        const keys = keysOf(partition)
        return rules.watch(keys, () => dropScript(keys, generation, options?.abandon ?? false))
      }),

    async list() {
      const listed = await callScript('list of generations', () =>
        process.redis.partitions.map(({ live, filling, generations }, n) => ({
          partition: n as Partition,
          live,
          filling,
          names: [...generations.keys()].sort(),
        })),
      )
      return { partitions: listed, strange: [] }
    },

    async *plants(partition, name) {
      for await (const found of batches(partition, name, 'plants', ({ plants }) => plants))
        yield found.map(([id, claim]) => ({ id: String(id), claim }))
    },

    entries: (partition, name, ids) =>
      callScript(`reading of entries of ${name}`, () => {
        const plants = keysOf(partition).generations.get(name)?.plants
        return ids.flatMap((id) => {
          const claim = plants?.get(BigInt(id) as PlantId)
          return claim === undefined ? [] : [{ id, claim }]
        })
      }),

    order: (partition, name, from, count) =>
      callScript(`reading of order of ${name}`, () => {
        rules.reads(process, partition, name, 'order')
        const { order } = keysOf(partition).generations.get(name) ?? { order: [] }
        return order.slice(from, from + count).map(String)
      }),

    span: (partition, name, from, count) =>
      callScript(`reading of ${name} from ${from}`, () => {
        rules.reads(process, partition, name, 'plants')
        rules.reads(process, partition, name, 'order')
        return spanScript(keysOf(partition), name, from, count)
      }),

    async *parked(partition, name) {
      for await (const found of batches(partition, name, 'parked', ({ parked }) => parked))
        yield found.map(([offset, reason]) => [String(offset), String(reason)])
    },
  }
}
