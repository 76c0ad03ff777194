import type { PartitionResult } from '@plant-store/plantctl/src/rebuild/finish.ts'
import { rebuildPartitions } from '@plant-store/plantctl/src/rebuild/rebuild.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { quietLog } from '../support/quiet-log.ts'
import { outcomeOf, type SimulatedProcess } from './clock.ts'
import { createSimulatedFollower, type SimulatedFollower } from './follower.ts'
import { ALL, PARTITIONS } from './kafka.ts'
import type { ProcessContext } from './process-context.ts'
import { pick, type Random } from './random.ts'
import { eventIdOf } from './records.ts'
import { connectReadModel } from './redis.ts'
import { emptyGeneration, type Generation, keysOf, type RedisServer, wholeGeneration } from './redis-scripts.ts'

const MAX_RECORDS_PER_APPLY = 2
/** Small, so that a failover can come between two spans, or two readings. */
const PLANTS_PER_SPAN = 2

export type SimulatedRebuild = ReturnType<typeof startRebuild>

/** Starts a rebuild like the command. */
function startRebuild(
  process: SimulatedProcess,
  { recordsAtOnceMax, fromEmpty }: { recordsAtOnceMax: number; fromEmpty: boolean },
  context: ProcessContext,
) {
  const { clock, log, brokers, network, freshGeneration } = context
  const time = clock.timeOf(process)
  const stopping = new AbortController()
  const { generations } = connectReadModel(process, context)
  let follower: SimulatedFollower | undefined

  const running = rebuildPartitions({
    partitions: ALL,
    fromEmpty,
    signal: stopping.signal,
    onProgress() {},
    generations,
    time,
    log: quietLog,
    recordsAtOnceMax,
    maxRecordsPerApply: MAX_RECORDS_PER_APPLY,
    plantsPerSpan: PLANTS_PER_SPAN,
    freshName: freshGeneration,
    follow(sink, only) {
      const followed = createSimulatedFollower(process, sink, { ...context, time })
      follower = followed
      return { ...followed, start: () => followed.assign([...only]) }
    },
    readEnds: () => network.call(process, 'read of the log ends', brokers.allEnds),
    readerOfLog: () => async (ranges, onRecords) => {
      for (const [partition, { end }] of ranges) {
        const records = log.records(partition).filter(({ offset }) => offset < end)
        await onRecords(partition, records)
      }
    },
  })
  return {
    process,
    /** Its current follower of the log. */
    follower: () => follower,
    /** Its result; undefined while it runs. */
    ended: outcomeOf(running),
    /** Interrupts it, like an operator. */
    stop: () => stopping.abort(new Error('stopped')),
  }
}

const AT_ONCE_MAX = 2
const OLDER_FOLD = 0
/** With the smaller limit each partition is a separate group and verified in slices. */
export const RECORDS_AT_ONCE = [1_000, 4]

/** The rebuilds of a world, and the faults of the generations they work on. */
export function createRebuilds(context: ProcessContext) {
  const { log, rules, freshGeneration, newProcess, crash, trace, broken, mayHalt } = context
  let rebuilds: SimulatedRebuild[] = []
  let wasDamaged = false

  /** The rebuilds that still run; checks the results of those that have ended. */
  function running(): SimulatedRebuild[] {
    for (const { process, ended } of rebuilds) {
      const outcome = ended()
      if (outcome === undefined) continue
      const text = checkResult(outcome)
      trace(() => `${process.name} has ended: ${text}`)
      process.alive = false
    }
    rebuilds = rebuilds.filter(({ process }) => process.alive)
    return rebuilds
  }

  function checkResult(outcome: PromiseSettledResult<PartitionResult[]>): string {
    if (outcome.status === 'rejected') {
      const { name, message } = outcome.reason as Error
      const mayBe = ['Error', 'RebuildError', ...(mayHalt() ? ['PreconditionError'] : [])]
      if (!mayBe.includes(name)) broken(`a rebuild fails with ${name}: ${message}`)
      return message
    }
    const different = outcome.value.find(({ is }) => is === 'different')
    if (different !== undefined && !wasDamaged) {
      broken(`a rebuild finds differences that do not exist: ${JSON.stringify(different)}`)
    }
    return outcome.value.map(({ is }) => is).join()
  }

  const launch = (recordsAtOnceMax: number, fromEmpty: boolean): SimulatedRebuild => {
    const process = newProcess('rebuild')
    trace(() => `${process.name} starts${fromEmpty ? ', from empty' : ''}`)
    const rebuild = startRebuild(process, { recordsAtOnceMax, fromEmpty }, context)
    rebuilds.push(rebuild)
    return rebuild
  }

  return {
    running,
    launch,

    start(random: Random): void {
      if (running().length < AT_ONCE_MAX) launch(pick(RECORDS_AT_ONCE, random), random.chance(0.7))
    },

    stop(random: Random): void {
      const rebuild = random.pick(running())
      if (rebuild === undefined) return
      trace(() => `${rebuild.process.name} is interrupted`)
      rebuild.stop()
    },

    crash(random: Random): void {
      const rebuild = random.pick(running())
      if (rebuild !== undefined) crash(rebuild.process, random)
    },

    /** Damages a generation that is neither live nor being verified. */
    damage(server: RedisServer, random: Random): void {
      const generations = server.flatMap(({ live, generations }) =>
        [...generations].filter(
          ([name, { plants, mark }]) => name !== live && plants.size > 0 && !rules.isAwaited(mark),
        ),
      )
      const [name, generation] = random.pick(generations) ?? []
      if (generation === undefined) return
      wasDamaged = true
      random.pick(DAMAGES)?.(generation)
      trace(() => `generation ${name} is DAMAGED at ${generation.checkpoint.offset}`)
    },

    /** Leaves the generation of a killed rebuild of an older release, which has another fold version. */
    leaveOlder(server: RedisServer, random: Random): void {
      if (running().length > 0) return
      const partition = pick(ALL, random)
      const keys = keysOf(server, partition)
      const [first] = log.records(partition)
      const generation = freshGeneration()
      // It refuses to work while there is a generation of a newer release.
      if ([keys.live, keys.filling].some((name) => wholeGeneration(keys, name) !== undefined)) return
      const checkpoint = checkpointAt(first?.offset ?? BEFORE_FIRST, [])
      const parked = { parked: new Map([[checkpoint.offset, 1]]), parkedCount: 1 }
      keys.generations.set(generation, { ...emptyGeneration(PARTITIONS), ...parked, checkpoint, fold: OLDER_FOLD })
      keys.filling = generation
      rules.noteNames(keys)
      trace(() => `an older release leaves generation ${generation}`)
    },
  }
}

const DAMAGES: ((generation: Generation) => void)[] = [
  ({ order }) => void order.splice(0, 1, order.at(-1) as Claim['id']),
  ({ plants, order }) => void plants.delete(order.at(-1) as Claim['id']),
  (generation) => void generation.voids++,
  ({ plants }) => {
    for (const [id, claim] of plants) plants.set(id, { ...claim, eventId: eventIdOf('foreigner', 0xffffff) })
  },
  ({ order }) => void order.reverse(),
  ({ parked }) => {
    for (const offset of parked.keys()) parked.set(offset, 99)
  },
]
