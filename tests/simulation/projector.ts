import { createProjector } from '@plant-store/projector/src/projector.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import type { ProcessContext } from './process-context.ts'
import { connectReadModel } from './redis.ts'

const MAX_RECORDS_PER_APPLY = 2

export type SimulatedProjector = {
  process: SimulatedProcess
  follower: SimulatedFollower
  projector: ReturnType<typeof createProjector>
}

/** Starts a projector like its main.ts, once Kafka and Redis respond. */
export function startProjector(
  process: SimulatedProcess,
  assigned: readonly Partition[],
  context: ProcessContext,
): SimulatedProjector {
  const { clock, network, quiet, rules, onHalt, onApplied, freshGeneration } = context
  const time = clock.timeOf(process)
  let follower: SimulatedFollower | undefined
  const projector = createProjector({
    readModel: connectReadModel(process, network, rules, onApplied),
    follow(sink) {
      follower = createSimulatedFollower(process, sink, { ...context, time })
      return follower as never
    },
    log: quiet,
    time,
    freshGeneration,
    maxRecordsPerApply: MAX_RECORDS_PER_APPLY,
    onHalt: (error) => onHalt(process, error),
  })
  follower?.assign(assigned)
  return { process, follower: follower as SimulatedFollower, projector }
}
