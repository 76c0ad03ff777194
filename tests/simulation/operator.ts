import type { Finished } from '@plant-store/plantctl/src/rebuild/finish.ts'
import { createRebuild } from '@plant-store/plantctl/src/rebuild/rebuild.ts'
import { createGenerationVerifier } from '@plant-store/plantctl/src/verify/generation-verifier.ts'
import { ofSlice } from '@plant-store/plantctl/src/verify/slice.ts'
import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import { connectGenerations } from './generations.ts'
import type { Life } from './life.ts'
import type { CliContext } from './surroundings.ts'

const MAX_RECORDS_PER_APPLY = 2
/** Few, so that a failover may come between. */
const PLANTS_PER_SPAN = 2

export type SimulatedRebuild = {
  life: Life
  /** Whoever follows the log for it now. */
  follower(): SimulatedFollower | undefined
  /** Breaks it off, as an operator does. */
  stop(): void
  /** What became of it; undefined while it works. */
  ended(): { finished: Finished[] } | { failure: Error } | undefined
}

/** An operator begins a rebuild, as the command does. */
export function startRebuild(
  life: Life,
  { recordsAtOnceMax, fromEmpty }: { recordsAtOnceMax: number; fromEmpty: boolean },
  surroundings: CliContext,
): SimulatedRebuild {
  const { clock, log, network, quiet, onApplied, rules, freshGeneration, freshMark } = surroundings
  const time = clock.timeOf(life)
  const stopping = new AbortController()
  const generations = connectGenerations(life, network, rules, onApplied)
  const partitions = log.ends().length
  let follower: SimulatedFollower | undefined
  let ended: ReturnType<SimulatedRebuild['ended']>

  const rebuild = createRebuild({
    ...{
      generations,
      freshMark,
      time,
      log: quiet,
      recordsAtOnceMax,
      maxRecordsPerApply: MAX_RECORDS_PER_APPLY,
      plantsPerSpan: PLANTS_PER_SPAN,
    },
    freshName: freshGeneration,
    follow(sink, only) {
      const followed = createSimulatedFollower(life, sink, { ...surroundings, time })
      follower = followed
      return { ...followed, start: () => followed.assign([...only]) }
    },
    readEnds: async () =>
      (await network.call(life, 'asking for the ends of the log', [log.ends]))[0] as Offset[],
    verify: createGenerationVerifier({
      ...{ reader: generations, partitions },
      async foldSlice(partition, upTo, slice) {
        const records = log.records(partition).filter(({ offset }) => offset <= upTo)
        return fold(emptyPartition(), ofSlice(slice, records))
      },
    }),
  })
  const run = {
    ...{ partitions: allPartitions(partitions), fromEmpty, signal: stopping.signal },
    onProgress: () => {},
  }
  void rebuild.run(run).then(
    (finished) => {
      ended = { finished }
    },
    (failure: Error) => {
      ended = { failure }
    },
  )
  return {
    life,
    follower: () => follower,
    stop: () => stopping.abort(new Error('stopped')),
    ended: () => ended,
  }
}
