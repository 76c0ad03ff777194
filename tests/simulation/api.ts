import { type ClaimIndex, createClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'
import { createPlantCreation } from '@plant-store/api/src/create-plant/create-plant.ts'
import { createPlantLister, type PlantLister } from '@plant-store/api/src/read-plants/list-plants.ts'
import { createPlantReader, type PlantReader } from '@plant-store/api/src/read-plants/read-plant.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import {
  allPartitions,
  BEFORE_FIRST,
  type Offset,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readStartState } from '@plant-store/shared/stores/preconditions.ts'
import type { SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import type { ProcessContext } from './process-context.ts'
import { connectReadModel } from './redis.ts'

const CREATE_DEADLINE_MS = 10_000
const READ_DEADLINE_MS = 2_000
const RETRY_MS = 500
const GIVE_UP_AFTER_MS = 120_000
const RETENTION_READINGS = 2
/** Small enough to be reached. */
const LIMITS = {
  maxQueuedBytes: 900,
  maxQueueAgeMs: 5_000,
  maxBatchRecords: 3,
  maxBatchBytes: 3 * 300,
}
const LIST_LIMITS = { maxCandidates: 2, spareCandidates: 1, maxPlantsPerRead: 4 }

export type SimulatedApi = {
  process: SimulatedProcess
  /** The log's ends when it asked for them, at its start. */
  startedAt: Offset[]
  /** What this instance has shown to anybody. */
  shown: Set<PlantId>
  /** What it gave to Kafka to append, in order. */
  given: NewRecord[]
  tail: SimulatedFollower
  claimIndex: ClaimIndex
  creation: ReturnType<typeof createPlantCreation>
  /** For one read, to see what it saw. */
  startReading(): PlantReader & { reach(partition: Partition): number }
  startListing(): PlantLister & { reach(partition: Partition): number }
  isListening: boolean
  isStopping: boolean
  /** How many requests wait for its answer. */
  waiting: number
  /** How many of them are creates. */
  creating: number
}

/** Starts an api as its main.ts does. Resolves once it can tell where it stands; requests come when it listens. */
export async function startApi(
  process: SimulatedProcess,
  windowBytes: number,
  context: ProcessContext,
): Promise<SimulatedApi> {
  const { clock, log, network, quiet, rules, onHalt, onApplied } = context
  const partitions = log.ends().length
  const time = clock.timeOf(process)
  const readModel = connectReadModel(process, network, rules, onApplied)
  const ends = async () => ({
    ends: (await network.call(process, 'asking for the ends of the log', [log.ends]))[0] as Offset[],
  })
  const patience = { time, everyMs: RETRY_MS, giveUpAfterMs: GIVE_UP_AFTER_MS }
  const standing = await retry(() => readStartState(readModel, ends, { partitions }), patience)
  const common = { log: quiet, time, onHalt: (error: Error) => onHalt(process, error) }
  const claimIndex = createClaimIndex({
    ...{ ...common, ...standing, readModel },
    windowMaxBytes: windowBytes * partitions,
    retentionReadings: RETENTION_READINGS,
  })
  const tail = createSimulatedFollower(process, claimIndex.sink, { ...context, time })
  const given: NewRecord[] = []
  const appender = {
    async append(records: NewRecord[]): Promise<void> {
      given.push(...records)
      const what = `append of ${records.map(({ key }) => key.toString()).join(', ')}`
      await network.call(
        process,
        what,
        records.map((record) => () => log.append(record)),
      )
    },
  }
  const creation = createPlantCreation(readModel, appender, claimIndex, {
    ...{ ...common, deadlineMs: CREATE_DEADLINE_MS, limits: LIMITS },
  })

  /**
   * The read model for one request, and how far the view reached: when it answered last, or for a request that
   * asks for the same partition several times, when it reached furthest.
   */
  function watchReach(counts: 'last' | 'furthest') {
    const seen = new Map<Partition, { checkpoint: Offset; reach: number }>()
    function reachOf(partition: Partition, checkpoint: Offset): number {
      const { start, next } = claimIndex.window(partition)
      return start > checkpoint + 1 ? checkpoint : Math.max(checkpoint, next - 1)
    }
    function note(
      asked: readonly { partition: Partition }[],
      answers: readonly { checkpoint: Offset }[],
    ): void {
      for (const [n, { partition }] of asked.entries()) {
        const { checkpoint } = answers[n] as { checkpoint: Offset }
        const reach = reachOf(partition, checkpoint)
        if (counts === 'furthest' && reach < (seen.get(partition)?.reach ?? -1)) continue
        seen.set(partition, { checkpoint, reach })
      }
    }
    const watched: Pick<typeof readModel, 'lookUp' | 'list'> = {
      async lookUp(asked) {
        const answers = await readModel.lookUp(asked)
        note(asked, answers)
        return answers
      },
      async list(asked) {
        const answers = await readModel.list(asked)
        note(asked, answers)
        return answers
      },
    }
    return {
      watched,
      /** When Redis had answered it or when the client was answered: the read judged in between. */
      reach(partition: Partition): number {
        const { checkpoint, reach } = seen.get(partition) ?? { checkpoint: BEFORE_FIRST, reach: -1 }
        return Math.max(reach, reachOf(partition, checkpoint))
      },
    }
  }

  function startReading() {
    const { watched, reach } = watchReach('last')
    return { ...createPlantReader(watched, claimIndex, { ...common, deadlineMs: READ_DEADLINE_MS }), reach }
  }

  function startListing() {
    const { watched, reach } = watchReach('furthest')
    const options = { ...common, deadlineMs: READ_DEADLINE_MS, limits: LIST_LIMITS }
    return { ...createPlantLister(watched, claimIndex, options), reach }
  }

  const api: SimulatedApi = {
    ...{ process, startedAt: standing.ends, shown: new Set<PlantId>(), given },
    ...{
      tail,
      claimIndex,
      creation,
      startReading,
      startListing,
      isListening: false,
      isStopping: false,
      waiting: 0,
      creating: 0,
    },
  }
  tail.assign(allPartitions(partitions) as Partition[])
  void tail.verified.then(() => {
    api.isListening = !api.isStopping
  })
  return api
}
