import { isReply, Refused, reasonOf, refusalOf } from '../event-log/broker-errors.ts'
import { withAdmin } from '../event-log/connection.ts'
import {
  assertSameTopic,
  assertWithinBounds,
  type KnownEnds,
  SERVICE_REMEDY,
  type TopicId,
} from '../event-log/log-identity.ts'
import { type Program, topicOperationsOf } from '../event-log/rights.ts'
import {
  checkLedPartitions,
  checkTopic,
  type LogEnds,
  TABLE,
  type TopicState,
  WRITE_TABLE_ANEW,
} from '../event-log/topic.ts'
import { checkRights, createRightsCheck } from '../event-log/topic-rights.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { eachApart, repeat, retry } from '../runtime/retry.ts'
import type { Time } from '../runtime/time.ts'
import type { Stores } from './open-stores.ts'

const GIVE_UP_AFTER_MS = 120_000
const RETRY = { everyMs: 250, longestMs: 2_000 }

/** What a service starts from: the topic id, and per partition the end of the log and the read model's checkpoint. */
export type StartState = LogEnds & {
  /** Without partitions that cannot be read. */
  checkpoints: ReadonlyMap<Partition, Checkpoint>
  /** The id of the table's topic, if there is a table and brokers report ids. */
  tableId: TopicId | undefined
}

/** A program that works on the stores for as long as it runs. */
export type Service = Extract<Program, 'api' | 'projector'>

/**
 * Waits for Kafka and Redis and checks all that the write protocol relies on. Throws a PreconditionError as soon as
 * one precondition does not hold, and any other error when a store does not respond for 2 minutes. `onFailure` receives
 * why it still waits. A refusal of Kafka may end by itself, because users, rights and secrets reach the brokers and
 * this process at different times. So it is a PreconditionError only after the 2 minutes.
 */
export async function checkPreconditions(
  stores: Stores,
  service: Service,
  log: Log,
  onFailure: (reason: string) => void = () => {},
): Promise<StartState> {
  try {
    return await retry(() => check(stores, service, log), {
      ...RETRY,
      giveUpAfterMs: GIVE_UP_AFTER_MS,
      onFailure(err) {
        log.warn({ err }, refusalOf(err, stores) ?? 'Kafka or Redis does not respond yet, retrying')
        onFailure(reasonOf(err, stores))
      },
    })
  } catch (error) {
    const refusal = refusalOf(error, stores)
    throw refusal === undefined ? error : new PreconditionError(refusal, 'not-authorized')
  }
}

async function check(stores: Stores, service: Service, log: Log): Promise<StartState> {
  const { kafka, readModel, topic, partitions, table } = stores
  await readModel.ready()
  await readModel.checkServer()
  const readLog = () => checkTopic(kafka, { topic, partitions })
  const { warnings, ...startState } = await readStartState(readModel, readLog, { partitions })
  const tableState = await checkTable(stores, service)
  await withAdmin(kafka, async (admin) => {
    for (const needed of topicOperationsOf(service, topic, table)) await checkRights(admin, ...needed)
  })
  for (const warning of [...warnings, ...(tableState?.warnings ?? [])]) log.warn(warning)
  return { ...startState, tableId: tableState?.topicId }
}

/** The state of the table's topic, if this service writes it. */
async function checkTable(
  { kafka, partitions, table }: Stores,
  service: Service,
): Promise<TopicState<KnownEnds> | undefined> {
  if (service !== 'projector' || table === undefined) return undefined
  try {
    return await checkLedPartitions(kafka, { topic: table, partitions }, TABLE)
  } catch (error) {
    const refusal = refusalOf(error, { topic: table })
    throw refusal === undefined ? error : new Refused(refusal)
  }
}

/**
 * Reads the checkpoints of the read model and the ends of the log, and compares them. Throws a PreconditionError when
 * the read model cannot have been folded from this log, and any other error when no partition of it can be read.
 */
export async function readStartState<T extends { ends: Offset[] }>(
  readModel: Pick<ReadModel, 'meta'>,
  readLog: () => Promise<T>,
  { partitions }: { partitions: number },
): Promise<T & Pick<StartState, 'checkpoints'>> {
  const checkpoints = new Map<Partition, Checkpoint>()
  await eachApart(allPartitions(partitions), async (partition) => {
    checkpoints.set(partition, (await readModel.meta(partition)).checkpoint)
  }).catch((error) => {
    if (error instanceof PreconditionError || checkpoints.size === 0) throw error
  })
  // The ends are read after the checkpoints: in the other order a checkpoint could seem to lie beyond the end.
  const state = await readLog()
  assertWithinBounds(checkpoints, state.ends)
  return { ...state, checkpoints }
}

export const WATCH_LOG_EVERY_MS = 30_000
/** A Redis that evicts forgets plants as soon as it is full. */
const WATCH_REDIS_EVERY_MS = 5_000
/** A missing right is named within 10 s, also while it is not needed. */
const WATCH_RIGHTS_EVERY_MS = 5_000
/** A change of leaders takes less. */
const SILENCE_MAX_MS = 10_000

/** A reader that follows the log. */
export type LogReader = {
  /** The id of the topic that it started with; undefined while no broker reports ids. */
  topicId: TopicId | undefined
  tableId?: TopicId | undefined
  /** The checkpoints that it has reached. */
  passed(): ReadonlyMap<Partition, Checkpoint>
  /** Receives the ends of the log, for its lag. */
  updateEnds(ends: KnownEnds['ends']): void
}

/**
 * Checks periodically that the topic and Redis still meet the preconditions, and that the log is still the same one
 * and holds what the reader has passed: settings change, and a failover may lead to a Redis with other settings. Checks
 * the table and the user's rights, too; what is wrong there is only reported.
 */
export function watchPreconditions(
  stores: Stores,
  service: Service,
  { topicId: first, tableId, passed, updateEnds }: LogReader,
  common: { time: Time; log: Log; onHalt(error: Error): void },
) {
  const { kafka, readModel, topic, partitions, table } = stores
  let topicId = first
  let refusal: string | undefined
  let lastSuccessAt = common.time.now()
  let failure: unknown
  let tableProblem: string | undefined
  let unreachable: string[] = []
  let wasAway = false
  const rights = topicOperationsOf(service, topic, table).map(([of, operations]) => ({
    of,
    ...createRightsCheck(kafka, of, operations),
  }))

  async function checkLog(): Promise<void> {
    const checkpoints = passed()
    const found = await checkLedPartitions(kafka, { topic, partitions })
    // In a failover, the former leader may be named for some seconds: two checks have to find it.
    const isAway = found.unreachable !== undefined && found.ends.includes(undefined)
    unreachable = isAway && wasAway ? [`kafka: ${reasonOf(found.unreachable)}`] : []
    wasAway = isAway
    updateEnds(found.ends)
    assertWithinBounds(checkpoints, found.ends)
    assertSameTopic(topicId, found.topicId, SERVICE_REMEDY)
    topicId ??= found.topicId
    tableProblem = await findTableProblem()
  }

  /** A problem of the table does not end the service. */
  async function findTableProblem(): Promise<string | undefined> {
    try {
      const now = (await checkTable(stores, service))?.topicId
      const isAnother = tableId !== undefined && now !== undefined && tableId !== now
      return isAnother ? `topic ${table} was recreated: ${WRITE_TABLE_ANEW}` : undefined
    } catch (error) {
      return reasonOf(error)
    }
  }

  async function watchRights(): Promise<void> {
    const before = refusal
    try {
      for (const { of, check } of rights)
        await check().catch((error) => {
          // Anything else that is wrong with the table is reported by checkLog.
          if (of !== table || refusalOf(error, { topic: of }) !== undefined) throw error
        })
      refusal = undefined
    } catch (error) {
      refusal = refusalOf(error, { topic })
      if (refusal === undefined) {
        failure = error
        return
      }
    }
    lastSuccessAt = common.time.now()
    failure = undefined
    if (refusal === before) return
    if (refusal === undefined) common.log.info('Kafka accepts the user again')
    else common.log.warn(refusal)
  }

  const watched = [
    repeat({ ...common, everyMs: WATCH_LOG_EVERY_MS, task: checkLog, what: 'checking the log' }),
    repeat({ ...common, everyMs: WATCH_REDIS_EVERY_MS, task: readModel.checkServer, what: 'checking Redis' }),
    repeat({ ...common, everyMs: WATCH_RIGHTS_EVERY_MS, task: watchRights, what: 'checking the rights' }),
  ]
  return {
    /** Problems of Kafka and the table: a refusal with its remedy, or no response. */
    problems(): string[] {
      if (refusal !== undefined) return [`kafka: ${refusal}`]
      const failedMs = common.time.now() - lastSuccessAt
      if (failedMs <= SILENCE_MAX_MS)
        return [
          ...(service === 'projector' ? unreachable : []),
          ...(tableProblem === undefined ? [] : [`the table: ${tableProblem}`]),
        ]
      return [
        ...(isReply(failure) ? [] : [`kafka: no response for ${Math.round(failedMs / 1_000)} s`]),
        ...(failure === undefined ? [] : [`kafka: ${reasonOf(failure)}`]),
      ]
    },

    /** A leader that cannot be reached: an api can serve the requests of all other partitions. */
    notices: (): string[] => (service === 'api' ? unreachable : []),

    async close(): Promise<void> {
      await Promise.all(watched.map(({ close }) => close()))
      await Promise.all(rights.map(({ close }) => close()))
    },
  }
}
