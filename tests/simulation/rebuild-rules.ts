import { BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { SwitchCall } from '@plant-store/shared/read-model/generations.ts'
import type { SimulatedProcess } from './clock.ts'
import type { Generation, PartitionKeys } from './redis-scripts.ts'

export type RebuildRules = ReturnType<typeof createRebuildRules>

const FOLD_VERSION = 1

/**
 * What must hold of each call of a script that a rebuild makes, told from what the keys were before it and are after
 * it, and by code of its own.
 */
export function createRebuildRules(broken: (guarantee: string) => void) {
  const names = new Set<string>()
  const marks = new Set<string>()
  /** Which mark each rebuild wrote last in each partition, and what it has read there since. */
  const begun = new Map<string, { mark: string; read: Set<string> }>()
  const keyOf = (process: SimulatedProcess, partition: Partition) => `${process.name} ${partition}`

  const liveOf = ({ live, generations }: PartitionKeys): Generation | undefined =>
    live === undefined ? undefined : generations.get(live)

  /** Carries out a call that makes no generation live, and none again. */
  function watch<T>(keys: PartitionKeys, call: () => T): T {
    const [pointer, live, before] = [keys.live, liveOf(keys), new Set(keys.generations.keys())]
    const result = call()
    for (const name of keys.generations.keys()) {
      if (before.has(name)) continue
      if (names.has(name)) broken(`a generation is made again: ${name}`)
      names.add(name)
    }
    if (keys.live !== pointer || liveOf(keys) !== live) broken(`another generation is live: ${keys.live}`)
    return result
  }

  return {
    watch,

    /** What others have begun. */
    noteNames({ generations }: PartitionKeys): void {
      for (const name of generations.keys()) names.add(name)
    },

    marked(process: SimulatedProcess, partition: Partition, mark: string): void {
      if (marks.has(mark)) broken(`a mark is written again: ${mark}`)
      marks.add(mark)
      begun.set(keyOf(process, partition), { mark, read: new Set() })
    },

    reads(process: SimulatedProcess, partition: Partition, generation: string, what: string): void {
      begun.get(keyOf(process, partition))?.read.add(`${generation} ${what}`)
    },

    /** Whether a switch may still come, perhaps late, of what carries this mark. */
    isAwaited: (mark: string | undefined): boolean =>
      [...begun.values()].some((verification) => verification.mark === mark),

    switchTo<T extends { is: string }>(
      process: SimulatedProcess,
      keys: PartitionKeys,
      [partition, call]: [Partition, SwitchCall],
      carryOut: () => T,
    ): T {
      const { generation: name, mark, expectedLive, verified } = call
      const generation = keys.generations.get(name)
      const [found, reached] = [generation?.mark, liveOf(keys)?.checkpoint.offset ?? BEFORE_FIRST]
      const pointer = keys.live ?? ''
      const replaced = liveOf(keys)?.fold ?? FOLD_VERSION
      const answer = carryOut()
      if (answer.is !== 'switched') return answer
      const read = begun.get(keyOf(process, partition))?.read
      const isRead = ['plants', 'order', 'parked'].every((what) => read?.has(`${name} ${what}`))
      const offset = generation?.checkpoint.offset ?? BEFORE_FIRST
      if (keys.live !== name || generation === undefined) broken(`a switch to ${name} that is not there`)
      else if (found !== mark) broken('a switch without the mark')
      else if (!isRead) broken('a switch to what was not read since it was marked')
      else if (pointer !== expectedLive) broken('a switch from another one than the one expected')
      else if (offset < verified) broken('a switch to what lost a part of what was verified')
      else if (offset < reached) broken('the live checkpoint falls by a switch')
      else if (generation.fold !== FOLD_VERSION) broken('a switch to what another release folds')
      else if (replaced > FOLD_VERSION) broken('a switch from what a newer release folds')
      return answer
    },
  }
}
