import { createProjector } from '@plant-store/projector/src/projector.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { createTableWriter } from '@plant-store/shared/table/table-writer.ts'
import { quietLog } from '../support/quiet-log.ts'
import type { SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import type { ProcessContext } from './process-context.ts'
import { connectReadModel } from './redis.ts'
import { connectTable } from './table.ts'

const MAX_RECORDS_PER_APPLY = 2
/** Small, so that they are reached. */
const TABLE_LIMITS = { maxQueuedBytes: 2_000, maxLookedUpClaims: 3 }

export type SimulatedProjector = ReturnType<typeof startProjector>

/** Starts a projector like its main.ts, once Kafka and Redis respond. */
export function startProjector(process: SimulatedProcess, assigned: readonly Partition[], context: ProcessContext) {
  const { clock, onHalt, freshGeneration } = context
  const common = {
    log: quietLog,
    time: clock.timeOf(process),
    onHalt: (error: Error) => onHalt(process, error),
  }
  let follower: SimulatedFollower | undefined
  const readModel = connectReadModel(process, context)
  const writer =
    context.table &&
    createTableWriter({
      ...connectTable(process, { ...context, table: context.table }, readModel),
      log: quietLog,
      time: common.time,
      limits: TABLE_LIMITS,
    })
  const projector = createProjector({
    readModel,
    follow(sink) {
      follower = createSimulatedFollower(process, sink, { ...context, ...common, log: context.log })
      return follower as never
    },
    ...common,
    freshGeneration,
    maxRecordsPerApply: MAX_RECORDS_PER_APPLY,
    table: writer,
  })
  follower?.assign(assigned)
  return { process, follower: follower as SimulatedFollower, projector, writer }
}
