import { type ClaimIndex, createClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'
import { createPlantCreation } from '@plant-store/api/src/create-plant/create-plant.ts'
import { createPlantLister, type PlantLister } from '@plant-store/api/src/read-plants/list-plants.ts'
import { createPlantReader, type PlantReader } from '@plant-store/api/src/read-plants/read-plant.ts'
import { AppendRefused, type BaseOffsets } from '@plant-store/shared/event-log/append.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readStartState } from '@plant-store/shared/stores/preconditions.ts'
import type { SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import type { ProcessContext } from './process-context.ts'
import { connectReadModel, type SimulatedReadModel } from './redis.ts'

const CREATE_DEADLINE_MS = 10_000
const READ_DEADLINE_MS = 2_000
const RETRY_MS = 500
const GIVE_UP_AFTER_MS = 120_000
const RETENTION_READINGS = 2
/** Small, so that schedules reach them. */
const LIMITS = {
  maxQueuedBytes: 900,
  maxQueueAgeMs: 5_000,
  maxBatchRecords: 3,
  maxBatchBytes: 3 * 300,
}
const LIST_LIMITS = { maxCandidates: 2, spareCandidates: 1, maxPlantsPerRead: 4 }

export type SimulatedApi = {
  process: SimulatedProcess
  /** The log's ends at its start. */
  startedAt: Offset[]
  /** The plants that this instance has shown. */
  shown: Set<PlantId>
  /** The records that it sent to Kafka, in order. */
  appended: NewRecord[]
  tail: SimulatedFollower
  claimIndex: ClaimIndex
  creation: ReturnType<typeof createPlantCreation>
  /** A reader for one request, with the reach that the request had. */
  startReading(): PlantReader & { reach(partition: Partition): number }
  startListing(): PlantLister & { reach(partition: Partition): number }
  isListening: boolean
  isStopping: boolean
  /** Requests in flight. */
  waiting: number
  /** Creates among them. */
  creating: number
}

/** Starts an api like its main.ts. Resolves when its start state is read; it listens when the log is verified. */
export async function startApi(
  process: SimulatedProcess,
  /** `reportsBases`: whether the brokers are new enough to report where a batch starts. */
  { windowBytes, reportsBases }: { windowBytes: number; reportsBases: boolean },
  context: ProcessContext,
): Promise<SimulatedApi> {
  const { clock, log, network, quiet, rules, refusesAppend, onHalt, onApplied } = context
  const partitions = log.ends().length
  const time = clock.timeOf(process)
  const readModel = connectReadModel(process, network, rules, onApplied)
  const ends = async () => ({
    ends: (await network.call(process, 'read of the log ends', [log.ends]))[0] as Offset[],
  })
  const retryOptions = { time, everyMs: RETRY_MS, giveUpAfterMs: GIVE_UP_AFTER_MS }
  const startState = await retry(() => readStartState(readModel, ends, { partitions }), retryOptions)
  const common = { log: quiet, time, onHalt: (error: Error) => onHalt(process, error) }
  const claimIndex = createClaimIndex({
    ...common,
    ...startState,
    readModel,
    windowMaxBytes: windowBytes * partitions,
    retentionReadings: RETENTION_READINGS,
  })
  const tail = createSimulatedFollower(process, claimIndex.sink, { ...context, time })
  const appended: NewRecord[] = []
  const appender = {
    /** The records of a partition are one batch; the batches of an append are independent of each other. */
    async append(all: NewRecord[]): Promise<BaseOffsets> {
      const refused = new Set([...new Set(all.map(({ partition }) => partition))].filter(refusesAppend))
      const records = all.filter(({ partition }) => !refused.has(partition))
      appended.push(...records)
      const what = `append of ${records.map(({ key }) => key.toString()).join(', ') || 'nothing: REFUSED'}`
      const batches = [...Map.groupBy(records, ({ partition }) => partition)]
      const parts = batches.map(
        ([, batch]) =>
          () =>
            batch.map(log.append)[0] as Offset,
      )
      const bases = await network.call(process, what, parts)
      if (records.length === 0) throw new AppendRefused('this user may not write')
      if (refused.size > 0) throw new Error('the leaders of some partitions refuse the append')
      return reportsBases ? new Map(batches.map(([partition], n) => [partition, bases[n] as Offset])) : undefined
    },
  }
  const creation = createPlantCreation(readModel, appender, claimIndex, {
    ...common,
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

  const api: SimulatedApi = {
    process,
    startedAt: startState.ends,
    shown: new Set<PlantId>(),
    appended,
    tail,
    claimIndex,
    creation,
    startReading,
    startListing,
    isListening: false,
    isStopping: false,
    waiting: 0,
    creating: 0,
  }
  tail.assign(allPartitions(partitions) as Partition[])
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
  function addResponses(
    requests: readonly { partition: Partition }[],
    responses: readonly { checkpoint: Offset }[],
  ): void {
    for (const [n, { partition }] of requests.entries()) {
      checkpoints.set(partition, (responses[n] as { checkpoint: Offset }).checkpoint)
      if (counts === 'last') reaches.delete(partition)
    }
  }
  const watchedModel: Pick<typeof readModel, 'lookUp' | 'list'> = {
    async lookUp(requests) {
      const responses = await readModel.lookUp(requests)
      addResponses(requests, responses)
      return responses
    },
    async list(requests) {
      const responses = await readModel.list(requests)
      addResponses(requests, responses)
      return responses
    },
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
