import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import {
  allPartitions,
  BEFORE_FIRST,
  type Offset,
  type Partition,
  partitionOf,
} from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { newPlant } from '../support/generated-plants.ts'
import { type SimulatedApi, startApi } from './api.ts'
import { createBackups } from './backups.ts'
import { createBrokers } from './brokers.ts'
import { createClients, type Workload } from './clients.ts'
import { createClock, type SimulatedProcess } from './clock.ts'
import { createKafkaLog, type Log } from './kafka.ts'
import { createNetwork } from './network.ts'
import { differenceFromFold } from './oracle.ts'
import type { ProcessContext } from './process-context.ts'
import { type SimulatedProjector, startProjector } from './projector.ts'
import { createRandom, type Random } from './random.ts'
import { createRebuildRules } from './rebuild-rules.ts'
import { createRebuilds } from './rebuilds.ts'
import { eventIdOf, foreignRecord, meaningOf } from './records.ts'
import {
  applyScript,
  copyServer,
  emptyKeys,
  emptyServer,
  type PartitionKeys,
  type RedisServer,
  wholeGeneration,
} from './redis-scripts.ts'
import { createTable } from './table.ts'

export const PARTITIONS = 2
/** In bytes per partition: has room for all claims of a schedule. */
export const LARGE_WINDOW = 40_000
/** Few ids, so that they are claimed repeatedly; both partitions have some. */
export const IDS = [0n, 1n, 2n, 3n, 7n, -9n] as PlantId[]
const RESPONSE_SLACK_MS = 100
/** Records of others from which on the tail of an api rests. */
const SHARED_LOG = [0, 1, 1_000]

export type World = ReturnType<typeof createWorld>

export type WorldOptions = {
  workload: Workload
  /** Window sizes of apis, in bytes per partition: 100 have room for no plant, 190 for one, 380 for two. */
  windows: readonly number[]
  /** True if Kafka refuses some appends: all of an attempt, or records with certain event ids. */
  refusesAppends: boolean
  /** True if some fetches go to a replica that lags. */
  hasLag: boolean
  /** True if projectors write the table. */
  hasTable: boolean
  /** The seed of everything after the last step. */
  ending: number
}

/** A plant store with several apis and projectors, one log, one Redis with replicas, and clients. */
export function createWorld(
  { workload, windows, refusesAppends, hasLag, hasTable, ending }: WorldOptions,
  trace: (what: () => string) => void,
) {
  const clock = createClock()
  const log = createKafkaLog(PARTITIONS)
  const network = createNetwork(trace)
  const brokers = createBrokers(log, createRandom(ending), { refusesAppends, hasLag })
  const brokenTable = (guarantee: string) => {
    if (!mayHalt) broken(guarantee)
  }
  const table = hasTable ? createTable(log, createRandom(ending + 2), brokenTable) : undefined
  const foreign = new Set<EventId>()
  const snapshots: RedisServer[] = [emptyServer(PARTITIONS)]
  /** The last process of each place; an api that is starting has no `api` yet. */
  const apis: { process: SimulatedProcess; api?: SimulatedApi }[] = []
  const projectors: SimulatedProjector[] = []
  let master = emptyServer(PARTITIONS)
  const servers = new Set([master])
  let processes: SimulatedProcess[] = []
  const halted = new Set<SimulatedProcess>()
  let mayHalt = false
  let starts = 0
  let generations = 0
  let foreigners = 0
  let brokenGuarantee: string | undefined

  function broken(guarantee: string): void {
    brokenGuarantee ??= guarantee
  }

  /** Compares Redis with the log after each apply, unless a wrong log is part of the schedule. */
  function onApplied(): void {
    if (mayHalt) return
    for (const server of servers) {
      const difference = differenceFromFold(log, server)
      if (difference !== undefined) broken(`the read model is not the fold of the log: ${difference}`)
    }
  }

  const context: ProcessContext = {
    ...{ clock, log, network, table, brokers, newProcess, trace, broken, onApplied },
    mayHalt: () => mayHalt,
    rules: createRebuildRules(broken),
    freshGeneration: () => `g${++generations}`,
    onHalt(process, error) {
      halted.add(process)
      trace(() => `${process.name} halts: ${error.message}`)
      if (!mayHalt) broken(`${process.name} halts on its own log: ${error.message}`)
    },
  }

  function newProcess(name: string): SimulatedProcess {
    const process = { name: `${name}.${++starts}`, alive: true, redis: master }
    processes = processes.filter(({ alive }) => alive).concat(process)
    return process
  }

  const rebuilds = createRebuilds(context)

  const world = {
    ...context,
    ...{ apis, projectors, rebuilds, foreign, halted },
    clients: createClients(context, workload),
    backups: createBackups(context, IDS),
    firstBroken: () => brokenGuarantee,
    hasLargeWindows: windows.every((bytes) => bytes >= LARGE_WINDOW),

    /** A partition gets another leader, or none. */
    elect(random: Random): void {
      const leader = brokers.elect(random)
      trace(() => `a partition gets the leader ${leader ?? 'none'}`)
    },

    master: () => master,
    /** The apis with a start state. */
    started: (): SimulatedApi[] => apis.flatMap(({ process, api }) => (process.alive && api ? [api] : [])),
    listening: () => world.started().filter(({ isListening }) => isListening),
    projecting: () => projectors.filter(({ process }) => process.alive),

    async startApi(place: number, random: Random): Promise<void> {
      const process = newProcess(`api ${place}`)
      const windowBytes = random.pick(windows) as number
      trace(() => `${process.name} starts with a window of ${windowBytes} bytes`)
      const running: (typeof apis)[number] = { process }
      apis[place] = running
      const options = {
        windowBytes,
        reportsBases: random.chance(0.8),
        sharedLogRecordsPerS: random.pick(SHARED_LOG) as number,
      }
      await startApi(process, options, context).then(
        (api) => {
          running.api = api
        },
        (error: Error) => {
          if (error instanceof PreconditionError) return context.onHalt(process, error)
          trace(() => `${process.name} does not start: ${error.message}`)
          process.alive = false
        },
      )
    },

    /** The graceful shutdown of an api, like its main.ts. */
    async stopApi(api: SimulatedApi, endWithinMs: number): Promise<void> {
      trace(() => `${api.process.name} is stopped`)
      api.isListening = false
      api.isStopping = true
      const { after } = clock.timeOf(api.process)
      api.creation.endWithin(endWithinMs)
      after(endWithinMs + RESPONSE_SLACK_MS, () => {
        // After the callbacks that are due at the same time.
        setImmediate(() => {
          if (api.creating > 0)
            broken(`${api.process.name} has ${api.creating} creates without a response at its deadline`)
        })
      })
      await api.creation.close()
      await api.tail.close()
      await api.claimIndex.close()
      trace(() => `${api.process.name} has ended`)
      if (api.creating > 0) broken(`${api.process.name} ended with ${api.creating} creates without a response`)
      api.process.alive = false
    },

    startProjector(place: number, assigned: readonly Partition[]): void {
      const process = newProcess(`projector ${place}`)
      trace(() => `${process.name} starts with partitions ${assigned.join(',')}`)
      projectors[place] = startProjector(process, assigned, context)
    },

    crash(process: SimulatedProcess, random: Random): void {
      if (!process.alive) return
      trace(() => `${process.name} CRASHES`)
      process.alive = false
      network.cutOff(process, random)
    },

    /** Damages the master or a replica. */
    damage: (random: Random) => rebuilds.damage(random.pick([master, ...snapshots]) as RedisServer, random),

    snapshot(): void {
      snapshots.push(copyServer(master))
    },

    /** A server with an earlier state, perhaps without a key, becomes master; some processes keep using the old one. */
    failOver(random: Random): void {
      const state = random.chance(0.2) ? emptyServer(PARTITIONS) : copyServer(random.pick(snapshots) as RedisServer)
      const old = master
      master = state
      servers.add(master)
      const notified = processes.filter(() => random.chance(0.7))
      if (random.chance(0.3)) loseKey(state, random)
      // A Redis Cluster, in which the other shards keep their masters.
      if (random.chance(0.3))
        for (const [p, keys] of old.partitions.entries()) if (random.chance(0.5)) state.partitions[p] = keys
      for (const process of notified) process.redis = master
      const names = () => notified.map(({ name }) => name).join(', ') || 'nobody'
      trace(() => `Redis FAILS OVER to ${checkpoints(master)} from ${checkpoints(old)}; notified: ${names()}`)
    },

    reconnect(random: Random): void {
      const process = random.pick(processes.filter(({ redis }) => redis !== master))
      if (process === undefined) return
      trace(() => `${process.name} finds the new Redis`)
      process.redis = master
    },

    reconnectAll(): void {
      for (const process of processes) process.redis = master
    },

    empty(): void {
      trace(() => 'Redis is EMPTIED')
      for (const keys of master.partitions) Object.assign(keys, emptyKeys())
    },

    /** Processes that start from now on connect to the Redis of another plant store. */
    connectToAnotherLog(random: Random): RedisServer {
      const other = createKafkaLog(PARTITIONS)
      for (const [n, id] of IDS.entries()) {
        const plant = newPlant(id, { name: `other ${n}` })
        const offset = other.append(plantCreated(plant, eventIdOf('another log', n), PARTITIONS))
        if (random.chance(0.3)) other.skip(partitionOf(Buffer.from(String(id)), PARTITIONS))
        trace(() => `another log has ${id} at ${offset}`)
      }
      mayHalt = true
      master = foldOf(other)
      return master
    },

    /** From now on services may halt. */
    expectHalts(): void {
      mayHalt = true
    },

    /** Another producer writes a record that may be foreign or unreadable. */
    appendForeign(random: Random): void {
      const eventId = eventIdOf('foreigner', foreigners++)
      const id = random.pick(workload.ids) as PlantId
      const { record, meaning } = foreignRecord({ id, eventId, partitions: PARTITIONS }, random)
      foreign.add(eventId)
      const offset = log.append(record)
      trace(() => `another producer writes a record at ${record.partition}-${offset} with the key ${id}: ${meaning}`)
      const read = meaningOf(log.records(record.partition).at(-1) as LogRecord)
      if (read !== meaning) broken(`${meaning} is read as ${read}`)
    },

    skip(random: Random): void {
      const partition = random.below(PARTITIONS) as Partition
      trace(() => `offset ${partition}-${log.end(partition)} is a control record`)
      log.skip(partition)
    },

    reachedBy: ({ partitions }: RedisServer, partition: Partition): Offset =>
      reachedIn(partitions[partition] as PartitionKeys),

    /** True if the partition of an id has a live generation. */
    isFolded: (id: PlantId): boolean =>
      master.partitions[partitionOf(Buffer.from(String(id)), PARTITIONS)]?.live !== '',

    /** True if Redis has the whole log. */
    isAtEnd: (): boolean => allPartitions(PARTITIONS).every((p) => world.reachedBy(master, p) === log.end(p) - 1),
  }
  return world
}

/** Loses a key of a generation, which the former master had moved to another one with its slot. */
function loseKey({ partitions }: RedisServer, random: Random): void {
  const generation = random.pick(partitions.flatMap(({ generations }) => [...generations.values()]))
  if (random.chance(0.5)) generation?.plants.clear()
  else generation?.order.splice(0)
}

/** A Redis folded from a whole log whose last records are claims. */
function foldOf(log: Log): RedisServer {
  const server = emptyServer(PARTITIONS)
  for (const [partition, keys] of server.partitions.entries()) {
    const records = log.records(partition as Partition)
    const next = checkpointAt(records.at(-1)?.offset ?? BEFORE_FIRST, records)
    const call = {
      generation: '',
      freshGeneration: 'other',
      partitions: PARTITIONS,
      expected: BEFORE_LOG,
      next,
      records,
    }
    applyScript(keys, call)
  }
  return server
}

const reachedIn = (keys: PartitionKeys): Offset => wholeGeneration(keys, keys.live)?.checkpoint.offset ?? BEFORE_FIRST

const checkpoints = ({ partitions }: RedisServer): string => partitions.map(reachedIn).join('/')
