import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import {
  allPartitions,
  BEFORE_FIRST,
  FIRST,
  type Offset,
  type Partition,
  partitionOf,
} from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log as ProcessLog } from '@plant-store/shared/runtime/log.ts'
import { type SimulatedApi, startApi } from './api.ts'
import { createClients, type Habits } from './clients.ts'
import { createClock } from './clock.ts'
import { eventIdOf } from './event-ids.ts'
import { foreignRecord, meaningOf } from './foreign-records.ts'
import { createKafkaLog, type Log } from './kafka.ts'
import type { Life } from './life.ts'
import { createNetwork } from './network.ts'
import { createOperators } from './operators.ts'
import { type SimulatedProjector, startProjector } from './projector.ts'
import type { Random } from './random.ts'
import { createRebuildRules } from './rebuild-rules.ts'
import { copyServer, emptyServer, type RedisServer } from './redis.ts'
import { applyScript, checkpointScript, type PartitionKeys } from './redis-scripts.ts'
import type { CliContext } from './surroundings.ts'
import { differenceFromFold } from './truth.ts'

export const PARTITIONS = 2
/** Few, so that they are claimed again and again; both partitions have some. */
export const IDS = [0n, 1n, 2n, 3n, 7n, -9n] as PlantId[]
const ANSWER_SLACK_MS = 100
const nothing = () => {}
const quiet = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
} as unknown as ProcessLog

export type World = ReturnType<typeof createWorld>

/** A plant store of several apis and projectors on one log and one Redis with its replicas, and clients. */
export function createWorld(
  { habits, windows }: { habits: Habits; windows: readonly number[] },
  say: (what: () => string) => void,
) {
  const clock = createClock()
  const log = createKafkaLog(PARTITIONS)
  const network = createNetwork(say)
  const foreign = new Set<EventId>()
  const snapshots: RedisServer[] = [emptyServer(PARTITIONS)]
  /** What runs in each place, and what ran last; an api that is starting has a life only. */
  const apis: { life: Life; api?: SimulatedApi }[] = []
  const projectors: SimulatedProjector[] = []
  let master = emptyServer(PARTITIONS)
  const servers = new Set([master])
  let processes: Life[] = []
  const halted = new Set<Life>()
  let mayHalt = false
  let lives = 0
  let generations = 0
  let marks = 0
  let foreigners = 0
  let brokenPromise: string | undefined

  function broken(promise: string): void {
    brokenPromise ??= promise
  }

  /** At once after each apply, as long as nobody was given the wrong log. */
  function onApplied(): void {
    if (mayHalt) return
    for (const server of servers) {
      const difference = differenceFromFold(log, server)
      if (difference !== undefined) broken(`the read model is no fold of the log: ${difference}`)
    }
  }

  const surroundings: CliContext = {
    ...{ clock, log, network, quiet, onApplied, rules: createRebuildRules(broken) },
    freshGeneration: () => `g${++generations}`,
    freshMark: () => `m${++marks}`,
    onHalt(life, error) {
      halted.add(life)
      say(() => `${life.name} halts: ${error.message}`)
      if (!mayHalt) broken(`${life.name} halts on its own log: ${error.message}`)
    },
  }

  const clients = createClients(log, habits, say, broken)

  function newLife(name: string): Life {
    const life = { name: `${name}.${++lives}`, alive: true, redis: master }
    processes = processes.filter(({ alive }) => alive).concat(life)
    return life
  }

  const operators = createOperators({ surroundings, newLife, say, broken, mayRefuse: () => mayHalt })

  const world = {
    ...{ clock, log, network, clients, apis, projectors, operators, surroundings, foreign },
    broken,
    halted,
    firstBroken: () => brokenPromise,
    master: () => master,
    /** The apis that can tell where they stand. */
    started: (): SimulatedApi[] => apis.flatMap(({ life, api }) => (life.alive && api ? [api] : [])),
    listening: () => world.started().filter(({ isListening }) => isListening),
    projecting: () => projectors.filter(({ life }) => life.alive),

    async startApi(place: number, random: Random): Promise<void> {
      const life = newLife(`api ${place}`)
      const windowBytes = random.pick(windows) as number
      say(() => `${life.name} starts with a window of ${windowBytes} bytes`)
      const running: (typeof apis)[number] = { life }
      apis[place] = running
      await startApi(life, windowBytes, surroundings).then(
        (api) => {
          running.api = api
        },
        (error: Error) => {
          if (error instanceof PreconditionError) return surroundings.onHalt(life, error)
          say(() => `${life.name} gives up: ${error.message}`)
          life.alive = false
        },
      )
    },

    /** The orderly end of an api, as its main.ts has it. */
    async stopApi(api: SimulatedApi, answersWithinMs: number): Promise<void> {
      say(() => `${api.life.name} is stopped`)
      api.isListening = false
      api.isStopping = true
      const { after } = clock.timeOf(api.life)
      api.creation.endWithin(answersWithinMs)
      after(answersWithinMs + ANSWER_SLACK_MS, () => {
        // After what came due at the same time.
        setImmediate(() => {
          if (api.creating > 0)
            broken(`${api.life.name} leaves ${api.creating} creates unanswered at its end`)
        })
      })
      await api.creation.close()
      await api.tail.close()
      await api.claimIndex.close()
      say(() => `${api.life.name} has ended`)
      if (api.creating > 0) broken(`${api.life.name} ended with ${api.creating} creates unanswered`)
      api.life.alive = false
    },

    startProjector(place: number, assigned: readonly Partition[]): void {
      const life = newLife(`projector ${place}`)
      say(() => `${life.name} starts with partitions ${assigned.join(',')}`)
      projectors[place] = startProjector(life, assigned, surroundings)
    },

    crash(life: Life, random: Random): void {
      if (!life.alive) return
      say(() => `${life.name} CRASHES`)
      life.alive = false
      network.cutOff(life, random)
    },

    /** On the master, or on a replica that may be master one day. */
    damage: (random: Random) => operators.damage(random.pick([master, ...snapshots]) as RedisServer, random),

    snapshot(): void {
      snapshots.push(copyServer(master))
    },

    /** Another server with an earlier state becomes master; who is not told goes on with the old one. */
    failOver(random: Random): void {
      const state = random.chance(0.2)
        ? emptyServer(PARTITIONS)
        : copyServer(random.pick(snapshots) as RedisServer)
      const old = master
      master = state
      servers.add(master)
      const told = processes.filter(() => random.chance(0.7))
      for (const life of told) life.redis = master
      const names = () => told.map(({ name }) => name).join(', ') || 'nobody'
      say(() => `Redis FAILS OVER to ${checkpoints(master)} from ${checkpoints(old)}; told: ${names()}`)
    },

    reconnect(random: Random): void {
      const life = random.pick(processes.filter(({ redis }) => redis !== master))
      if (life === undefined) return
      say(() => `${life.name} finds the new Redis`)
      life.redis = master
    },

    reconnectAll(): void {
      for (const life of processes) life.redis = master
    },

    empty(): void {
      say(() => 'Redis is EMPTIED')
      for (const keys of master.partitions) {
        keys.live = undefined
        keys.filling = undefined
        keys.generations.clear()
      }
    },

    /** From now on processes that start are connected to the Redis of another plant store. */
    connectToAnotherLog(random: Random): RedisServer {
      const other = createKafkaLog(PARTITIONS)
      for (const [n, id] of IDS.entries()) {
        const plant = { id, name: `other ${n}` }
        const offset = other.append(plantCreated(plant, eventIdOf('another log', n), PARTITIONS))
        if (random.chance(0.3)) other.skip(partitionOf(Buffer.from(String(id)), PARTITIONS))
        say(() => `another log has ${id} at ${offset}`)
      }
      mayHalt = true
      master = foldOf(other)
      return master
    },

    /** From now on a service that does not halt is wrong. */
    expectHalts(): void {
      mayHalt = true
    },

    /** What others write: records that are no plants, or that this release can't read. */
    appendForeign(random: Random): void {
      const eventId = eventIdOf('foreigner', foreigners++)
      const id = random.pick(habits.ids) as PlantId
      const { record, meaning } = foreignRecord({ id, eventId, partitions: PARTITIONS }, random)
      foreign.add(eventId)
      const offset = log.append(record)
      say(() => `somebody writes a record at ${record.partition}-${offset} with the key ${id}: ${meaning}`)
      const taken = meaningOf(log.records(record.partition).at(-1) as LogRecord)
      if (taken !== meaning) broken(`${meaning} is taken for ${taken}`)
    },

    skip(random: Random): void {
      const partition = random.below(PARTITIONS) as Partition
      say(() => `offset ${partition}-${log.end(partition)} is a control record`)
      log.skip(partition)
    },

    reachedBy: ({ partitions }: RedisServer, partition: Partition): Offset =>
      checkpointScript(partitions[partition] as PartitionKeys).checkpoint.offset,

    /** Whether the partition of an id has a generation in Redis. */
    isFolded: (id: PlantId): boolean =>
      master.partitions[partitionOf(Buffer.from(String(id)), PARTITIONS)]?.live !== undefined,

    /** Whether Redis has passed the whole log. */
    isAtEnd: (): boolean =>
      allPartitions(PARTITIONS).every((p) => world.reachedBy(master, p) === log.end(p) - 1),
  }
  return world
}

/** A Redis folded from the whole of a log whose last records are claims. */
function foldOf(log: Log): RedisServer {
  const server = emptyServer(PARTITIONS)
  for (const partition of allPartitions(PARTITIONS)) {
    const delivery = log.fetch(partition, FIRST, Infinity)
    if (delivery === undefined) continue
    const { records } = delivery
    const last = records.at(-1)
    const next = { offset: last?.offset ?? BEFORE_FIRST, eventId: last?.claim?.eventId ?? ('' as const) }
    applyScript(server.partitions[partition] as PartitionKeys, {
      ...{ generation: '', freshGeneration: 'other', foldVersion: 1, partitions: PARTITIONS },
      ...{ expected: { offset: BEFORE_FIRST, eventId: '' }, next, records },
    })
  }
  return server
}

function checkpoints({ partitions }: RedisServer): string {
  return partitions.map((keys) => checkpointScript(keys).checkpoint.offset).join('/')
}
