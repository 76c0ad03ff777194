import { type ClaimIndex, createClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'
import { createPlantCreation } from '@plant-store/api/src/create-plant/create-plant.ts'
import { createPlantLister } from '@plant-store/api/src/read-plants/list-plants.ts'
import { createPlantReader } from '@plant-store/api/src/read-plants/read-plant.ts'
import { createLanes } from '@plant-store/shared/event-log/lanes.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/read-model.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readStartState } from '@plant-store/shared/stores/preconditions.ts'
import { quietLog } from '../support/quiet-log.ts'
import { createSimulatedAppender, type SentRecord } from './brokers.ts'
import type { SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import { ALL, PARTITIONS } from './kafka.ts'
import type { ProcessContext } from './process-context.ts'
import { connectReadModel, type SimulatedReadModel } from './redis.ts'

const CREATE_DEADLINE_MS = 10_000
const READ_DEADLINE_MS = 2_000
const RETRY_MS = 500
const GIVE_UP_AFTER_MS = 120_000
/** Small, so that schedules reach them. */
const LIMITS = { maxQueuedBytes: 2_500, maxQueuedRecords: 12, maxQueueAgeMs: 5_000, maxBatchIds: 3 }
const LANE_LIMITS = { maxBatchRecords: 3, maxBatchBytes: 3 * 300 }
/** Longer than in the product: each wait is a step of a schedule. */
const WAITS = { checkEveryMs: 100, lookUpEveryMs: 100, lookUpMaxIds: 2, lookUpRetryMs: 100, slowMs: 200 }
const LIST_LIMITS = { maxCandidates: 2, spareCandidates: 1, maxPlantsPerRead: 4 }

export type SimulatedApi = Awaited<ReturnType<typeof startApi>>

type SimulatedApiOptions = {
  windowBytes: number
  /** True if the brokers are new enough to report where a batch starts. */
  reportsBases: boolean
  /** Above this the tail rests. */
  sharedLogRecordsPerS: number
}

/** Starts an api like its main.ts. Resolves when its start state is read; it listens when the log is verified. */
export async function startApi(
  process: SimulatedProcess,
  { windowBytes, reportsBases, sharedLogRecordsPerS }: SimulatedApiOptions,
  context: ProcessContext,
) {
  const { clock, brokers, network, onHalt } = context
  const time = clock.timeOf(process)
  const readModel = connectReadModel(process, context)
  const ends = async () => ({ ends: await network.call(process, 'read of the log ends', brokers.allEnds) })
  const retryOptions = { time, everyMs: RETRY_MS, giveUpAfterMs: GIVE_UP_AFTER_MS }
  const startState = await retry(() => readStartState(readModel, ends, { partitions: PARTITIONS }), retryOptions)
  const common = { log: quietLog, time, onHalt: (error: Error) => onHalt(process, error) }
  let tail = undefined as unknown as SimulatedFollower
  const claimIndex = createClaimIndex({
    ...common,
    ...startState,
    readModel,
    follow(sink) {
      tail = createSimulatedFollower(process, sink, { ...context, time })
      return { ...tail, lag: () => undefined, updateEnds() {} }
    },
    windowMaxBytes: windowBytes * PARTITIONS,
    waits: WAITS,
    sharedLogRecordsPerS,
  })
  const sent: SentRecord[] = []
  const lanes = createLanes({
    appender: createSimulatedAppender(process, reportsBases, sent, context),
    partitions: PARTITIONS,
    time,
    log: quietLog,
    limits: LANE_LIMITS,
  })
  const creation = createPlantCreation(readModel, lanes, claimIndex, {
    time,
    log: quietLog,
    deadlineMs: CREATE_DEADLINE_MS,
    limits: LIMITS,
  })

  function startReading() {
    const { watchedModel, watchedIndex, reach } = watchReach(readModel, claimIndex, 'last')
    return { ...createPlantReader(watchedModel, watchedIndex, { ...common, deadlineMs: READ_DEADLINE_MS }), reach }
  }

  function startListing() {
    const { watchedModel, watchedIndex, reach } = watchReach(readModel, claimIndex, 'furthest')
    const options = { ...common, deadlineMs: READ_DEADLINE_MS, limits: LIST_LIMITS }
    return { ...createPlantLister(watchedModel, watchedIndex, options), reach }
  }

  const api = {
    ...{ process, tail, claimIndex, creation },
    /** The log's ends at its start. */
    startedAt: startState.ends,
    /** The plants that this instance has shown. */
    shown: new Set<PlantId>(),
    /** The records that it sent to Kafka, in order. */
    sent,
    /** A reader for one request, with the reach that the request had. */
    ...{ startReading, startListing },
    ...{ isListening: false, isStopping: false },
    /** Requests in flight, and creates among them. */
    ...{ waiting: 0, creating: 0 },
  }
  tail.assign(ALL)
  void tail.verified.then(() => {
    api.isListening = !api.isStopping
  })
  return api
}

/**
 * Read model and windows for one request, and the reach when it last looked at a window: then it decided. For a request
 * that reads a partition several times, the furthest of these reaches.
 */
function watchReach(readModel: SimulatedReadModel, claimIndex: ClaimIndex, counts: 'last' | 'furthest') {
  const checkpoints = new Map<Partition, Offset>()
  const reaches = new Map<Partition, number>()
  function add<T extends { checkpoint: Offset }>(request: { partition: Partition } | undefined, response: T): T {
    const { partition } = request as { partition: Partition }
    checkpoints.set(partition, response.checkpoint)
    if (counts === 'last') reaches.delete(partition)
    return response
  }
  const watchedModel: Pick<typeof readModel, 'lookUp' | 'lookUpEach' | 'listEach'> = {
    lookUp: async (requests) => (await readModel.lookUp(requests)).map((found, n) => add(requests[n], found)),
    // As one call, unlike those of creates: a list asks one Redis.
    lookUpEach(requests) {
      const found = watchedModel.lookUp(requests)
      return requests.map(async (_, n) => (await found)[n] as PartitionLookUp)
    },
    listEach: (requests) => readModel.listEach(requests).map(async (found, n) => add(requests[n], await found)),
  }
  const watchedIndex: ClaimIndex = {
    ...claimIndex,
    window(partition) {
      const window = claimIndex.window(partition)
      const checkpoint = checkpoints.get(partition) ?? BEFORE_FIRST
      const reach = window.start > checkpoint + 1 ? checkpoint : Math.max(checkpoint, window.next - 1)
      reaches.set(partition, Math.max(reach, reaches.get(partition) ?? BEFORE_FIRST))
      return window
    },
  }
  return { watchedModel, watchedIndex, reach: (partition: Partition) => reaches.get(partition) ?? BEFORE_FIRST }
}
