import { BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { SwitchCall } from '@plant-store/shared/read-model/generations.ts'
import type { SimulatedProcess } from './clock.ts'
import { FOLD_VERSION, type Generation, type PartitionKeys } from './redis-scripts.ts'

export type RebuildRules = ReturnType<typeof createRebuildRules>

/**
 * Guarantees of each script call of a rebuild, checked with the keys before and after it, independently of the product.
 */
export function createRebuildRules(broken: (guarantee: string) => void) {
  const names = new Set<string>()
  /** The keys that were read after each mark, until the next one. A switch with an earlier mark may arrive late. */
  const reads = new Map<string, Set<string>>()
  /** The last mark of each rebuild in each partition. */
  const lastMarks = new Map<string, string>()
  const keyOf = (process: SimulatedProcess, partition: Partition) => `${process.name} ${partition}`

  const liveOf = ({ live, generations }: PartitionKeys): Generation | undefined => generations.get(live)

  /** Executes a call that must neither change the live generation nor recreate a dropped one. */
  function watch<T>(keys: PartitionKeys, call: () => T): T {
    const [pointer, live, before] = [keys.live, liveOf(keys), new Set(keys.generations.keys())]
    const result = call()
    for (const name of keys.generations.keys()) {
      if (before.has(name)) continue
      if (names.has(name)) broken(`a generation is recreated: ${name}`)
      names.add(name)
    }
    if (keys.live !== pointer || liveOf(keys) !== live) broken(`another generation is live: ${keys.live}`)
    return result
  }

  return {
    watch,

    /** Adds the generations that others have started. */
    noteNames({ generations }: PartitionKeys): void {
      for (const name of generations.keys()) names.add(name)
    },

    marked(process: SimulatedProcess, partition: Partition, mark: string): void {
      if (reads.has(mark)) broken(`a mark is written again: ${mark}`)
      reads.set(mark, new Set())
      lastMarks.set(keyOf(process, partition), mark)
    },

    reads(process: SimulatedProcess, partition: Partition, generation: string, what: string): void {
      reads.get(lastMarks.get(keyOf(process, partition)) ?? '')?.add(`${generation} ${what}`)
    },

    /** True if a switch with this mark may still arrive, perhaps late. */
    isAwaited: (mark: string): boolean => reads.has(mark),

    switchTo<T extends { is: string }>(keys: PartitionKeys, call: SwitchCall, execute: () => T): T {
      const { generation: name, mark, expectedLive, verified } = call
      const generation = keys.generations.get(name)
      const [found, reached] = [generation?.mark, liveOf(keys)?.checkpoint.offset ?? BEFORE_FIRST]
      const pointer = keys.live
      const replaced = liveOf(keys)?.fold ?? FOLD_VERSION
      const result = execute()
      if (result.is !== 'switched') return result
      const isRead = ['plants', 'order', 'parked'].every((what) => reads.get(mark)?.has(`${name} ${what}`))
      const offset = generation?.checkpoint.offset ?? BEFORE_FIRST
      if (keys.live !== name || generation === undefined) broken(`a switch to ${name}, which does not exist`)
      else if (found !== mark) broken('a switch without the mark')
      else if (!isRead) broken('a switch to a generation that was not read after its mark')
      else if (pointer !== expectedLive) broken('a switch from an unexpected live generation')
      else if (offset < verified) broken('a switch to a generation that lost verified records')
      else if (offset < reached) broken('the live checkpoint falls by a switch')
      else if (generation.fold !== FOLD_VERSION) broken('a switch to a generation of another fold version')
      else if (replaced > FOLD_VERSION) broken('a switch from a generation of a newer fold version')
      return result
    },
  }
}
