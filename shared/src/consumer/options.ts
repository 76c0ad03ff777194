import type { Security } from '../event-log/connection.ts'
import { isServiceGroup } from '../event-log/groups.ts'
import { TOPIC_NAME } from '../event-log/log-identity.ts'
import { HOST_PORT } from '../runtime/host-port.ts'
import type { Log } from '../runtime/log.ts'
import { CONNECT_WITHIN_MS } from './connect-kafka.ts'
import type { FirstClaims } from './first-claims/first-claims.ts'
import type { DeadLetter, HandlerContext } from './handlers.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import type { ParkedRecord, PlantCreated, TablePlant } from './plant-record.ts'

/** The start of delivery. */
export type Begin =
  | 'beginning'
  /** Only what is written from now on. */
  | 'end'
  /** The first record of each partition with this timestamp or a later one. */
  | { time: Date }
  /** The next offset of each partition. */
  | { positions: ReadonlyMap<number, number> }

type Awaitable<T> = T | Promise<T>

type ClientOptions = Security & {
  /** Some of the brokers, each `host:port`. */
  brokers: readonly string[]
  clientId?: string | undefined
  /** Default: warnings and errors to the console. */
  log?: Log | undefined
}

type ReaderOptions = ClientOptions & {
  /** Default: plants. */
  topic?: string | undefined
  /** Maximum number of events per call of `onPlantsCreated`. Default: 500, for a replay 1,000. */
  maxBatch?: number | undefined
  /** Stops the consumer, or aborts the replay. */
  signal?: AbortSignal | undefined
}

export type ConsumeOptions = ReaderOptions & {
  /** The consumer group. Its processes share the partitions; Kafka stores its position under this name. */
  groupId: string
  /** Called with one plant at a time per partition. Set either this or `onPlantsCreated`. */
  onPlantCreated?: ((event: PlantCreated, context: HandlerContext) => Awaitable<unknown>) | undefined
  /** Called with up to `maxBatch` plants of one partition, in log order. */
  onPlantsCreated?: ((events: PlantCreated[], context: HandlerContext) => Awaitable<unknown>) | undefined
  /** The store of the first claims. Default: inMemory(). */
  firstClaims?: FirstClaims | undefined
  /** The start of a group that has not committed anything. Default: beginning. */
  from?: Begin | undefined
  /** Number of consecutive failures after which `onDeadLetter` is called, if it is set. Default: 5. */
  maxAttempts?: number | undefined
  /** Delay before the first retry in ms. Doubles with each further failure. Default: 250. */
  firstRetryMs?: number | undefined
  /** Maximum delay before a retry in ms. Default: 5,000. */
  longestRetryMs?: number | undefined
  /**
   * Receives what has failed for the last time. Without it, retries never end. If it throws, that is one more failure.
   */
  onDeadLetter?: ((letter: DeadLetter, context: HandlerContext) => Awaitable<unknown>) | undefined
  /** Receives parked records. Retried like a handler. Without it, parked records are logged. */
  onParked?: ((record: ParkedRecord, context: HandlerContext) => Awaitable<unknown>) | undefined
  /** The interval of commits of the group's position, in ms. Default: 1,000. */
  commitEveryMs?: number | undefined
  /** The time that `stop` waits for handlers, in ms. Default: 10,000. */
  stopWithinMs?: number | undefined
  /** The time that Kafka may be unreachable at the start, in ms. Default: 15,000. */
  connectWithinMs?: number | undefined
}

/** The progress of a replay. Counts offsets, so that the control records of transactions count as well. */
export type ReplayProgress = { read: number; of: number; plants: number; perSecond: number }

/** Exactly one of the two. */
type OnPlants =
  | { onPlantCreated(event: PlantCreated): unknown; onPlantsCreated?: undefined }
  /** Events of one partition in log order, at most `maxBatch` per call. */
  | { onPlantsCreated(events: PlantCreated[]): unknown; onPlantCreated?: undefined }

export type ReplayPlantsOptions = OnPlants &
  ReaderOptions & {
    /** Receives parked records. */
    onParked?: ((record: ParkedRecord) => unknown) | undefined
    /** Called every `progressEveryMs`, and at the end. Awaited, and may fail, like a handler. */
    onProgress?: ((progress: ReplayProgress) => unknown) | undefined
    /** Default: 1,000. */
    progressEveryMs?: number | undefined
    /**
     * The plants to deliver: all, or those written from a time or from positions on. The whole log is read in any case,
     * because only that shows which claim was first.
     */
    from?: Exclude<Begin, 'end'> | undefined
    /** Memory limit for the first claims of all plants. Default: 1,024 MiB, for about 25 million plants. */
    maxMib?: number | undefined
  }

export type PlantTableOptions = ClientOptions & {
  /** The topic of the table. Default: plants.table. */
  table?: string | undefined
  /** Called with each plant, in the order of the table, before `get` returns it. If it fails, it is called again. */
  onPlant?: ((plant: TablePlant) => Awaitable<unknown>) | undefined
  /** The time that Kafka may be unreachable at the start, in ms. Default: 15,000. */
  connectWithinMs?: number | undefined
}

type Defaulted<T, K extends keyof T> = T & { [Name in K]-?: Exclude<T[Name], undefined> }
type ClientDefaults = 'clientId' | 'log'
type ReaderDefaults = ClientDefaults | 'topic' | 'from' | 'maxBatch'

export type CheckedConsumeOptions = Defaulted<
  ConsumeOptions,
  | ReaderDefaults
  | ('maxAttempts' | 'firstRetryMs' | 'longestRetryMs' | 'commitEveryMs' | 'stopWithinMs' | 'connectWithinMs')
>
export type CheckedReplayOptions = Defaulted<ReplayPlantsOptions, ReaderDefaults | 'maxMib' | 'progressEveryMs'>
type CheckedTableOptions = Defaulted<PlantTableOptions, ClientDefaults | 'table' | 'connectWithinMs'>

/** The accepted values of an option, in words and as a check, and its default. */
type Option = { expected: string; accepts(value: never): boolean; default?: unknown; isRequired?: true }

const HOUR_MS = 3_600_000

const integer = (min: number, max: number, fallback: number): Option => ({
  expected: `an integer from ${min} to ${max}`,
  accepts: (value: number) => Number.isInteger(value) && value >= min && value <= max,
  default: fallback,
})

const isText = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value)
const isBroker = isText(new RegExp(HOST_PORT))

const aName: Option = { expected: 'a name of 1 to 249 characters', accepts: isText(/^.{1,249}$/su) }
const aTopic: Option = { expected: 'a Kafka topic name', accepts: isText(TOPIC_NAME) }
const aFunction: Option = { expected: 'a function', accepts: (value) => typeof value === 'function' }
const anObject: Option = { expected: 'an object', accepts: isObject }

/** Warnings and errors to stderr. */
const consoleLog: Log = {
  debug() {},
  info() {},
  warn: (...parts: unknown[]) => console.warn('plants:', ...parts.reverse()),
  error: (...parts: unknown[]) => console.error('plants:', ...parts.reverse()),
}

const clientOptions = (clientId: string): Record<keyof ClientOptions, Option> => ({
  brokers: {
    expected: "a list of brokers, each 'host:port'",
    accepts: (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isBroker),
    isRequired: true,
  },
  clientId: { ...aName, default: clientId },
  log: { expected: 'an object with debug, info, warn and error', accepts: isLog, default: consoleLog },
  ssl: {
    expected: 'true, false or options of tls.connect',
    accepts: (value: unknown) => typeof value === 'boolean' || isObject(value),
  },
  sasl: anObject,
  socketFactory: aFunction,
  rackId: aName,
})

const readerOptions = (clientId: string, maxBatch: number) => ({
  ...clientOptions(clientId),
  topic: { ...aTopic, default: 'plants' },
  onPlantCreated: aFunction,
  onPlantsCreated: aFunction,
  onParked: aFunction,
  maxBatch: integer(1, 10_000, maxBatch),
  signal: { expected: 'an AbortSignal', accepts: (value: unknown) => value instanceof AbortSignal },
})

const startOption = (...places: string[]): Option => ({
  expected:
    `${places.map((place) => `'${place}', `).join('')}{ time: a valid Date } or ` +
    '{ positions: a Map of partitions to next offsets }',
  accepts: (value: unknown) => places.includes(value as string) || isTimeOrPositions(value),
  default: 'beginning',
})

const CONSUME_OPTIONS: Record<keyof ConsumeOptions, Option> = {
  ...readerOptions('plant-consumer', 500),
  groupId: { ...aName, isRequired: true },
  onDeadLetter: aFunction,
  firstClaims: {
    expected: 'the result of inMemory() or inFile()',
    accepts: (value: Partial<FirstClaims> | null) => typeof value?.open === 'function',
  },
  from: startOption('beginning', 'end'),
  maxAttempts: integer(1, 1_000_000, 5),
  firstRetryMs: integer(1, HOUR_MS, 250),
  longestRetryMs: integer(1, HOUR_MS, 5_000),
  commitEveryMs: integer(10, 60_000, 1_000),
  stopWithinMs: integer(0, HOUR_MS, 10_000),
  connectWithinMs: integer(0, HOUR_MS, CONNECT_WITHIN_MS),
}

const REPLAY_OPTIONS: Record<keyof ReplayPlantsOptions, Option> = {
  ...readerOptions('plant-replay', 1_000),
  onProgress: aFunction,
  progressEveryMs: integer(1, HOUR_MS, 1_000),
  from: startOption('beginning'),
  maxMib: integer(1, 1_048_576, 1_024),
}

const TABLE_OPTIONS: Record<keyof PlantTableOptions, Option> = {
  ...clientOptions('plant-table'),
  table: { ...aTopic, default: 'plants.table' },
  onPlant: aFunction,
  connectWithinMs: integer(0, HOUR_MS, CONNECT_WITHIN_MS),
}

/** Adds the defaults. Throws a PlantConsumerError that names every missing or invalid option. */
export function checkConsumeOptions(options: ConsumeOptions): CheckedConsumeOptions {
  return check<CheckedConsumeOptions>(options, CONSUME_OPTIONS, ({ longestRetryMs, firstRetryMs, groupId, topic }) => {
    if (longestRetryMs < firstRetryMs) return 'longestRetryMs must not be less than firstRetryMs'
    if (!isServiceGroup(groupId, topic)) return undefined
    return `groupId ${groupId} is a consumer group of the service itself: choose another one`
  })
}

/** As `checkConsumeOptions`. */
export const checkReplayOptions = (options: ReplayPlantsOptions) => check<CheckedReplayOptions>(options, REPLAY_OPTIONS)
export const checkTableOptions = (options: PlantTableOptions) => check<CheckedTableOptions>(options, TABLE_OPTIONS)

/** An option that is undefined counts as unset. `faultOf` checks options that are valid one by one. */
function check<T extends object>(
  given: object,
  known: Record<string, Option>,
  faultOf?: (options: T) => string | undefined,
): T {
  const set = Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined))
  const faults = Object.entries(set).flatMap(([name, value]) => {
    const option = known[name]
    if (option === undefined) return [`${name} is not an option`]
    return option.accepts(value as never) ? [] : [`${name} must be ${option.expected}`]
  })
  for (const [name, { isRequired }] of Object.entries(known)) {
    if (isRequired && !(name in set)) faults.push(`${name} is missing`)
  }
  if ('onPlantCreated' in known && 'onPlantCreated' in set === 'onPlantsCreated' in set) {
    faults.push('set exactly one of onPlantCreated and onPlantsCreated')
  }
  const defaults = Object.entries(known).map(([name, option]) => [name, option.default])
  const checked = { ...Object.fromEntries(defaults.filter(([, value]) => value !== undefined)), ...set } as T
  const fault = faults.length > 0 ? faults.join('; ') : faultOf?.(checked)
  if (fault !== undefined) throw new PlantConsumerError('invalid-options', `options: ${fault}`)
  return checked
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function isLog(value: unknown): boolean {
  const log = value as Partial<Log> | null
  return [log?.debug, log?.info, log?.warn, log?.error].every((write) => typeof write === 'function')
}

function isTimeOrPositions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { time, positions } = value as { time?: unknown; positions?: unknown }
  if (time !== undefined) return positions === undefined && time instanceof Date && !Number.isNaN(time.getTime())
  return positions instanceof Map && [...positions].flat().every((n) => Number.isSafeInteger(n) && n >= 0)
}
