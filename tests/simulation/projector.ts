import { createProjector } from '@plant-store/projector/src/projector.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import type { Life } from './life.ts'
import { connectReadModel } from './redis.ts'
import type { CliContext } from './surroundings.ts'

const MAX_RECORDS_PER_APPLY = 2

export type SimulatedProjector = {
  life: Life
  follower: SimulatedFollower
  projector: ReturnType<typeof createProjector>
}

/** Starts a projector as its main.ts does once Kafka and Redis answer. */
export function startProjector(
  life: Life,
  assigned: readonly Partition[],
  surroundings: CliContext,
): SimulatedProjector {
  const { clock, network, quiet, rules, onHalt, onApplied, freshGeneration } = surroundings
  const time = clock.timeOf(life)
  let follower: SimulatedFollower | undefined
  const projector = createProjector({
    readModel: connectReadModel(life, network, rules, onApplied),
    follow(sink) {
      follower = createSimulatedFollower(life, sink, { ...surroundings, time })
      return follower as never
    },
    ...{ log: quiet, time, freshGeneration, maxRecordsPerApply: MAX_RECORDS_PER_APPLY },
    onHalt: (error) => onHalt(life, error),
  })
  follower?.assign(assigned)
  return { life, follower: follower as SimulatedFollower, projector }
}
