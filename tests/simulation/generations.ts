import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { StartResult, SwitchResult } from '@plant-store/shared/read-model/generations.ts'
import type { RebuildDependencies } from '../../plantctl/src/rebuild/rebuild.ts'
import type { GenerationReader } from '../../plantctl/src/verify/compare.ts'
import type { ProofReader } from '../../plantctl/src/verify/proof.ts'
import type { SimulatedProcess } from './clock.ts'
import {
  beginScript,
  dropScript,
  markScript,
  spanScript,
  stateScript,
  switchScript,
} from './generation-scripts.ts'
import type { Network } from './network.ts'
import type { RebuildRules } from './rebuild-rules.ts'
import { FOLD_VERSION, refuse } from './redis.ts'
import { applyScript, type Generation, type PartitionKeys } from './redis-scripts.ts'

/** Few, so that a failover may come between. */
const BATCH = 3

/** The generations as one process has them: each script goes over the network to the server it is connected to. */
export function connectGenerations(
  process: SimulatedProcess,
  network: Network,
  rules: RebuildRules,
  onApplied: () => void,
): RebuildDependencies['generations'] & GenerationReader & ProofReader {
  const keysOf = (partition: Partition) => process.redis.partitions[partition] as PartitionKeys
  const partitions = () => process.redis.partitions.length

  async function ask<T>(what: string, script: () => T): Promise<T> {
    const [answer] = await network.call(process, what, [script])
    return answer as T
  }

  /** One batch after the other, by index: what is there all the time is told, whatever is added. */
  async function* batches<T>(
    partition: Partition,
    name: string,
    what: 'plants' | 'order' | 'parked',
    read: (generation: Generation) => Iterable<T>,
  ): AsyncGenerator<T[]> {
    for (let from = 0; ; from += BATCH) {
      const found = await ask(`reading of ${what} of ${name}`, () => {
        rules.reads(process, partition, name, what)
        const generation = keysOf(partition).generations.get(name)
        return generation === undefined ? [] : [...read(generation)].slice(from, from + BATCH)
      })
      if (found.length > 0) yield found
      if (found.length < BATCH) return
    }
  }

  return {
    async startFilling(partition, freshName) {
      const begun = await ask(`begin of ${partition}`, () => {
        const keys = keysOf(partition)
        const call = { freshName, foldVersion: FOLD_VERSION, partitions: partitions() }
        return rules.watch(keys, () => beginScript(keys, call))
      })
      if (begun.is === 'FOLD') refuse(begun.version, undefined, process.redis)
      if (begun.is === 'PARTITIONS') refuse(undefined, begun.count, process.redis)
      return begun as StartResult
    },

    async fill(partition, generation, expected, next, records) {
      const filled = await ask(`fill of ${generation} from ${expected.offset + 1} to ${next.offset}`, () => {
        const keys = keysOf(partition)
        const call = { generation, expected, next, records, freshGeneration: '' }
        const scope = { foldVersion: FOLD_VERSION, partitions: partitions() }
        return rules.watch(keys, () => applyScript(keys, { ...call, ...scope }))
      })
      if (filled.is === 'FOLD') refuse(filled.version, undefined, process.redis)
      if (filled.is === 'STALE') return { is: 'stale', checkpoint: filled.checkpoint }
      return { is: filled.is === 'OK' ? 'applied' : 'gone' }
    },

    mark: (partition, generation, mark) =>
      ask(`mark ${mark} of ${generation}`, () => {
        const keys = keysOf(partition)
        const marked = rules.watch(keys, () => markScript(keys, generation, mark))
        if (marked.is === 'marked') rules.marked(process, partition, mark)
        return marked
      }),

    state: (partition, generation) =>
      ask(`state of ${partition} ${generation}`, () => stateScript(keysOf(partition), generation ?? '')),

    async switchTo(partition, call) {
      const switched = await ask(`switch of ${partition} to ${call.generation}`, () => {
        const keys = keysOf(partition)
        const answer = rules.switchTo(process, keys, [partition, call], () =>
          switchScript(keys, call, FOLD_VERSION),
        )
        onApplied()
        return answer
      })
      if (switched.is === 'FOLD') refuse(switched.version, undefined, process.redis)
      return switched as SwitchResult
    },

    drop: (partition, generation, options) =>
      ask(`drop of ${generation}`, () => {
        const keys = keysOf(partition)
        return rules.watch(keys, () => dropScript(keys, generation, options?.abandon ?? false))
      }),

    async list() {
      const listed = await ask('list of generations', () =>
        process.redis.partitions.map(({ live = '', filling = '', generations }, n) => ({
          ...{ partition: n as Partition, live, filling, names: [...generations.keys()].sort() },
        })),
      )
      return { partitions: listed, strange: [] }
    },

    async *plants(partition, name) {
      for await (const found of batches(partition, name, 'plants', ({ plants }) => plants))
        yield found.map(([id, claim]) => ({ id: String(id), claim }))
    },

    entries: (partition, name, ids) =>
      ask(`reading of entries of ${name}`, () => {
        const plants = keysOf(partition).generations.get(name)?.plants
        return ids.flatMap((id) => {
          const claim = plants?.get(BigInt(id) as PlantId)
          return claim === undefined ? [] : [{ id, claim }]
        })
      }),

    async *order(partition, name, count) {
      const idsOf = ({ order }: Generation): readonly PlantId[] => order.slice(0, count)
      for await (const ids of batches(partition, name, 'order', idsOf)) yield ids.map(String)
    },

    span: (partition, name, from, count) =>
      ask(`reading of ${name} from ${from}`, () => {
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
