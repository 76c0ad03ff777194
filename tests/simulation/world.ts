import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { newPlant } from '../support/generated-plants.ts'
import { type SimulatedApi, startApi } from './api.ts'
import { createBackups } from './backups.ts'
import { createBrokers } from './brokers.ts'
import { createClients, type Workload } from './clients.ts'
import { createClock, type SimulatedProcess } from './clock.ts'
import { ALL, createKafkaLog, type Log, PARTITIONS } from './kafka.ts'
import { createNetwork } from './network.ts'
import { differenceFromFold } from './oracle.ts'
import type { ProcessContext } from './process-context.ts'
import { type SimulatedProjector, startProjector } from './projector.ts'
import { createRandom, pick, type Random } from './random.ts'
import { createRebuildRules } from './rebuild-rules.ts'
import { createRebuilds } from './rebuilds.ts'
import { eventIdOf, foreignRecord, meaningOf } from './records.ts'
import * as redis from './redis-scripts.ts'
import { createTable } from './table.ts'

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
  const foreign = new Set<EventId>()
  const snapshots: redis.RedisServer[] = [redis.emptyServer()]
  /** The last process of each place; an api that is starting has no `api` yet. */
  const apis: { process: SimulatedProcess; api?: SimulatedApi }[] = []
  const projectors: SimulatedProjector[] = []
  let master = redis.emptyServer()
  const servers = new Set([master])
  let processes: SimulatedProcess[] = []
  const halted = new Set<SimulatedProcess>()
  let mayHalt = false
  let [starts, generations] = [0, 0]
  let brokenGuarantee: string | undefined

  function broken(guarantee: string): void {
    brokenGuarantee ??= guarantee
  }

  /** Unless a wrong log or read model is part of the schedule. */
  function brokenByItself(guarantee: string): void {
    if (!mayHalt) broken(guarantee)
  }

  const context: ProcessContext = {
    ...{ clock, log, network, brokers, trace, broken },
    table: hasTable ? createTable(log, createRandom(ending + 2), brokenByItself) : undefined,
    mayHalt: () => mayHalt,
    rules: createRebuildRules(broken),
    freshGeneration: () => `g${++generations}`,

    /** Compares Redis with the log. */
    onApplied(): void {
      for (const server of mayHalt ? [] : servers) {
        const difference = differenceFromFold(log, server)
        if (difference !== undefined) broken(`the read model is not the fold of the log: ${difference}`)
      }
    },

    onHalt(process, error) {
      halted.add(process)
      trace(() => `${process.name} halts: ${error.message}`)
      brokenByItself(`${process.name} halts on its own log: ${error.message}`)
    },

    newProcess(name: string): SimulatedProcess {
      const process = { name: `${name}.${++starts}`, alive: true, redis: master }
      processes = processes.filter(({ alive }) => alive).concat(process)
      return process
    },

    crash(process: SimulatedProcess, random: Random): void {
      if (!process.alive) return
      trace(() => `${process.name} CRASHES`)
      process.alive = false
      network.cutOff(process, random)
    },
  }
  const rebuilds = createRebuilds(context)

  const world = {
    ...context,
    ...{ apis, projectors, rebuilds, foreign, halted },
    clients: createClients(context, workload),
    backups: createBackups(context, IDS),
    firstBroken: () => brokenGuarantee,
    hasLargeWindows: windows.every((bytes) => bytes >= LARGE_WINDOW),
    master: () => master,

    /** The apis with a start state. */
    started: (): SimulatedApi[] => apis.flatMap(({ process, api }) => (process.alive && api ? [api] : [])),
    listening: () => world.started().filter(({ isListening }) => isListening),
    projecting: () => projectors.filter(({ process }) => process.alive),

    async startApi(place: number, random: Random): Promise<void> {
      const process = context.newProcess(`api ${place}`)
      const windowBytes = pick(windows, random)
      trace(() => `${process.name} starts with a window of ${windowBytes} bytes`)
      const running: (typeof apis)[number] = { process }
      apis[place] = running
      const [reportsBases, sharedLogRecordsPerS] = [random.chance(0.8), pick(SHARED_LOG, random)]
      try {
        running.api = await startApi(process, { windowBytes, reportsBases, sharedLogRecordsPerS }, context)
      } catch (error) {
        if (error instanceof PreconditionError) return context.onHalt(process, error)
        trace(() => `${process.name} does not start: ${(error as Error).message}`)
        process.alive = false
      }
    },

    /** The graceful shutdown of an api, like its main.ts. */
    async stopApi(api: SimulatedApi, endWithinMs: number): Promise<void> {
      const { process, creation } = api
      const expectResponses = (when: string) => {
        if (api.creating > 0) broken(`${process.name} has ${api.creating} creates without a response ${when}`)
      }
      trace(() => `${process.name} is stopped`)
      api.isListening = false
      api.isStopping = true
      creation.endWithin(endWithinMs)
      // After the callbacks that are due at the same time.
      const atDeadline = () => setImmediate(() => expectResponses('at its deadline'))
      clock.timeOf(process).after(endWithinMs + RESPONSE_SLACK_MS, atDeadline)
      await creation.close()
      await api.tail.close()
      await api.claimIndex.close()
      trace(() => `${process.name} has ended`)
      expectResponses('at its end')
      process.alive = false
    },

    startProjector(place: number, assigned: readonly Partition[]): void {
      const process = context.newProcess(`projector ${place}`)
      trace(() => `${process.name} starts with partitions ${assigned.join(',')}`)
      projectors[place] = startProjector(process, assigned, context)
    },

    /** A partition gets another leader, or none. */
    elect(random: Random): void {
      const leader = brokers.elect(random)
      trace(() => `a partition gets the leader ${leader ?? 'none'}`)
    },

    /** Damages the master or a replica. */
    damage: (random: Random) => rebuilds.damage(pick([master, ...snapshots], random), random),

    snapshot: () => void snapshots.push(redis.copyServer(master)),

    /** A server with an earlier state, perhaps without a key, becomes master; some processes keep using the old one. */
    failOver(random: Random): void {
      const old = master
      master = random.chance(0.2) ? redis.emptyServer() : redis.copyServer(pick(snapshots, random))
      servers.add(master)
      const notified = processes.filter(() => random.chance(0.7))
      if (random.chance(0.3)) loseKey(master, random)
      // A Redis Cluster, in which the other shards keep their masters.
      if (random.chance(0.3)) for (const [p, keys] of old.entries()) if (random.chance(0.5)) master[p] = keys
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
      for (const keys of master) Object.assign(keys, redis.emptyKeys())
    },

    /** Processes that start from now on connect to the Redis of another plant store. */
    connectToAnotherLog(random: Random): redis.RedisServer {
      const other = createKafkaLog(PARTITIONS)
      for (const [n, id] of IDS.entries()) {
        const record = plantCreated(newPlant(id, { name: `other ${n}` }), eventIdOf('another log', n), PARTITIONS)
        const offset = other.append(record)
        if (random.chance(0.3)) other.skip(record.partition)
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
      const eventId = eventIdOf('foreigner', foreign.size)
      const id = pick(workload.ids, random)
      const { record, meaning } = foreignRecord({ id, eventId, partitions: PARTITIONS }, random)
      foreign.add(eventId)
      const offset = log.append(record)
      trace(() => `another producer writes a record at ${record.partition}-${offset} with the key ${id}: ${meaning}`)
      const read = meaningOf(log.records(record.partition).at(-1) as LogRecord)
      if (read !== meaning) broken(`${meaning} is read as ${read}`)
    },

    skip(random: Random): void {
      const partition = pick(ALL, random)
      trace(() => `offset ${partition}-${log.end(partition)} is a control record`)
      log.skip(partition)
    },

    /** True if the partition of an id has a live generation. */
    isFolded: (id: PlantId): boolean => master[partitionOf(Buffer.from(String(id)), PARTITIONS)]?.live !== '',

    /** True if Redis has the whole log. */
    isAtEnd: (): boolean => ALL.every((partition) => reachedBy(master, partition) === log.end(partition) - 1),
  }
  return world
}

/** Loses a key of a generation, which the former master had moved to another one with its slot. */
function loseKey(server: redis.RedisServer, random: Random): void {
  const generation = random.pick(server.flatMap(({ generations }) => [...generations.values()]))
  if (random.chance(0.5)) generation?.plants.clear()
  else generation?.order.splice(0)
}

/** A Redis folded from a whole log whose last records are claims. */
function foldOf(log: Log): redis.RedisServer {
  const server = redis.emptyServer()
  for (const partition of ALL) {
    const records = log.records(partition)
    const next = checkpointAt(records.at(-1)?.offset ?? BEFORE_FIRST, records)
    const call = { generation: '', freshGeneration: 'other', partitions: PARTITIONS, expected: BEFORE_LOG }
    redis.applyScript(redis.keysOf(server, partition), { ...call, next, records })
  }
  return server
}

export function reachedBy(server: redis.RedisServer, partition: Partition): Offset {
  const keys = redis.keysOf(server, partition)
  return redis.wholeGeneration(keys, keys.live)?.checkpoint.offset ?? BEFORE_FIRST
}

const checkpoints = (server: redis.RedisServer): string =>
  ALL.map((partition) => reachedBy(server, partition)).join('/')
