import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Security } from '../event-log/connection.ts'
import { isServiceGroup } from '../event-log/groups.ts'
import { HOST_PORT } from '../runtime/host-port.ts'
import type { Log } from '../runtime/log.ts'
import type { FirstClaims } from './first-claims/first-claims.ts'
import type { DeadLetter, HandlerContext } from './handlers.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import type { ParkedRecord, PlantCreated, TablePlant } from './plant-record.ts'

/** Where delivery starts. */
export type Begin =
  | 'beginning'
  /** Only what is written from now on. */
  | 'end'
  /** The first record of each partition with this timestamp or a later one. */
  | { time: Date }
  /** The next offset of each partition. */
  | { positions: ReadonlyMap<number, number> }

type Awaitable<T> = T | Promise<T>

export type ConsumeOptions = Security & {
  /** Some of the brokers, each `host:port`. */
  brokers: readonly string[]
  /** The consumer group. Its processes share the partitions; Kafka stores its position under this name. */
  groupId: string
  /** Called with one plant at a time per partition. Set either this or `onPlantsCreated`. */
  onPlantCreated?(event: PlantCreated, context: HandlerContext): Awaitable<unknown>
  /** Called with up to `maxBatch` plants of one partition, in log order. */
  onPlantsCreated?(events: PlantCreated[], context: HandlerContext): Awaitable<unknown>
  /** Default: plants. */
  topic?: string
  clientId?: string
  /** Default: warnings and errors to the console. */
  log?: Log
  /** Where the first claims are stored. Default: inMemory(). */
  firstClaims?: FirstClaims
  /** Where the group starts if it has not committed anything. Default: beginning. */
  from?: Begin
  /** Default: 500. */
  maxBatch?: number
  /** Number of consecutive failures after which `onDeadLetter` is called, if it is set. Default: 5. */
  maxAttempts?: number
  /** Delay before the first retry in ms. Doubles with each further failure. Default: 250. */
  firstRetryMs?: number
  /** Maximum delay before a retry in ms. Default: 5,000. */
  longestRetryMs?: number
  /**
   * Receives what has failed for the last time. Without it, retries never end. If it throws, that is one more failure.
   */
  onDeadLetter?(letter: DeadLetter, context: HandlerContext): Awaitable<unknown>
  /** Receives parked records. Retried like a handler. Without it, parked records are logged. */
  onParked?(record: ParkedRecord, context: HandlerContext): Awaitable<unknown>
  /** How often the group's position is committed, in ms. Default: 1,000. */
  commitEveryMs?: number
  /** How long `stop` waits for handlers, in ms. Default: 10,000. */
  stopWithinMs?: number
  /** The time that Kafka may be unreachable at the start, in ms. Default: 15,000. */
  connectWithinMs?: number
  /** Stops the consumer. */
  signal?: AbortSignal
}

/** The progress of a replay. Counts offsets, so that the control records of transactions count as well. */
export type ReplayProgress = { read: number; of: number; plants: number; perSecond: number }

/** Exactly one of the two. */
type OnPlants =
  | { onPlantCreated(event: PlantCreated): unknown; onPlantsCreated?: undefined }
  /** Events of one partition in log order, at most `maxBatch` per call. */
  | { onPlantsCreated(events: PlantCreated[]): unknown; onPlantCreated?: undefined }

export type ReplayPlantsOptions = OnPlants &
  Security & {
    /** Some of the brokers, each `host:port`. */
    brokers: readonly string[]
    /** Default: plants. */
    topic?: string
    clientId?: string
    /** Default: warnings and errors to the console. */
    log?: Log
    /** Maximum number of events per call. Default: 1,000. */
    maxBatch?: number
    /** Receives parked records. */
    onParked?(record: ParkedRecord): unknown
    /** Called every `progressEveryMs`, and at the end. Awaited, and may fail, like a handler. */
    onProgress?(progress: ReplayProgress): unknown
    /** Default: 1,000. */
    progressEveryMs?: number
    /**
     * What is delivered: all plants, or those written from a time or from positions on. The whole log is read in any
     * case, because only that shows which claim was first.
     */
    from?: Exclude<Begin, 'end'>
    /** Memory limit for the first claims of all plants. Default: 1,024 MiB, for about 25 million plants. */
    maxMib?: number
    /** Aborts the replay. */
    signal?: AbortSignal
  }

export type PlantTableOptions = Security & {
  /** Some of the brokers, each `host:port`. */
  brokers: readonly string[]
  /** The topic of the table. Default: plants.table. */
  table?: string
  clientId?: string
  /** Default: warnings and errors to the console. */
  log?: Log
  /** Called with each plant, in the order of the table, before `get` returns it. If it throws, it is called again. */
  onPlant?(plant: TablePlant): void
  /** The time that Kafka may be unreachable at the start, in ms. Default: 15,000. */
  connectWithinMs?: number
}

/** The schema of an option, and its description for error messages. */
type OptionSchema = TSchema & { expected: string }

const HOUR_MS = 3_600_000

const described = <T extends TSchema>(expected: string, schema: T): OptionSchema => Object.assign(schema, { expected })

const accepting = (expected: string, check: (value: unknown) => boolean): OptionSchema =>
  described(
    expected,
    Type.Refine(Type.Unknown(), check, () => expected),
  )

const integer = (minimum: number, maximum: number): OptionSchema =>
  described(`an integer from ${minimum} to ${maximum}`, Type.Integer({ minimum, maximum }))

const nameSchema = described('a name of 1 to 249 characters', Type.String({ minLength: 1, maxLength: 249 }))
const functionSchema = accepting('a function', (value) => typeof value === 'function')
const objectSchema = accepting('an object', (value) => typeof value === 'object' && value !== null)

const topicSchema = described('a Kafka topic name', Type.String({ pattern: '^[a-zA-Z0-9._-]{1,249}$' }))

const CLIENT_OPTIONS = {
  brokers: described(
    "a list of brokers, each 'host:port'",
    Type.Array(Type.String({ pattern: HOST_PORT }), { minItems: 1 }),
  ),
  clientId: nameSchema,
  log: accepting('an object with debug, info, warn and error', isLog),
  ssl: described('true, false or options of tls.connect', Type.Union([Type.Boolean(), objectSchema])),
  sasl: objectSchema,
  socketFactory: functionSchema,
  rackId: nameSchema,
}

/** Options of consumePlants and replayPlants. */
const READER_OPTIONS = {
  ...CLIENT_OPTIONS,
  topic: topicSchema,
  onPlantCreated: functionSchema,
  onPlantsCreated: functionSchema,
  onParked: functionSchema,
  maxBatch: integer(1, 10_000),
  signal: accepting('an AbortSignal', (value) => value instanceof AbortSignal),
}

const CONSUME_OPTIONS = {
  ...READER_OPTIONS,
  groupId: nameSchema,
  onDeadLetter: functionSchema,
  firstClaims: accepting('the result of inMemory(), inFile() or inReadModel()', isFirstClaims),
  from: accepting(
    "'beginning', 'end', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
    (value) => value === 'beginning' || value === 'end' || isTimeOrPositions(value),
  ),
  maxAttempts: integer(1, 1_000_000),
  firstRetryMs: integer(1, HOUR_MS),
  longestRetryMs: integer(1, HOUR_MS),
  commitEveryMs: integer(10, 60_000),
  stopWithinMs: integer(0, HOUR_MS),
  connectWithinMs: integer(0, HOUR_MS),
}

const REPLAY_OPTIONS = {
  ...READER_OPTIONS,
  onProgress: functionSchema,
  progressEveryMs: integer(1, HOUR_MS),
  from: accepting(
    "'beginning', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
    (value) => value === 'beginning' || isTimeOrPositions(value),
  ),
  maxMib: integer(1, 1_048_576),
}

const TABLE_OPTIONS = {
  ...CLIENT_OPTIONS,
  table: topicSchema,
  onPlant: functionSchema,
  connectWithinMs: integer(0, HOUR_MS),
}

const ignore = () => {}

/** Warnings and errors to stderr. */
const consoleLog: Log = {
  debug: ignore,
  info: ignore,
  warn: (...parts: unknown[]) => console.warn('plants:', ...parts.reverse()),
  error: (...parts: unknown[]) => console.error('plants:', ...parts.reverse()),
}

const CONSUME_DEFAULTS = {
  topic: 'plants',
  clientId: 'plant-consumer',
  log: consoleLog,
  from: 'beginning' as Begin,
  maxBatch: 500,
  maxAttempts: 5,
  firstRetryMs: 250,
  longestRetryMs: 5_000,
  commitEveryMs: 1_000,
  stopWithinMs: 10_000,
  connectWithinMs: 15_000,
}

const REPLAY_DEFAULTS = {
  topic: 'plants',
  clientId: 'plant-replay',
  log: consoleLog,
  from: 'beginning' as Exclude<Begin, 'end'>,
  maxBatch: 1_000,
  maxMib: 1_024,
  progressEveryMs: 1_000,
}

const TABLE_DEFAULTS = {
  table: 'plants.table',
  clientId: 'plant-table',
  log: consoleLog,
  connectWithinMs: 15_000,
}

export type CheckedConsumeOptions = ConsumeOptions & typeof CONSUME_DEFAULTS
export type CheckedReplayOptions = ReplayPlantsOptions & typeof REPLAY_DEFAULTS

/** Adds the defaults. Throws a PlantConsumerError that names every missing or invalid option. */
export function checkConsumeOptions(options: ConsumeOptions): CheckedConsumeOptions {
  const { set, faults } = validate(options, CONSUME_OPTIONS, ['brokers', 'groupId'])
  const checked = { ...CONSUME_DEFAULTS, ...set }
  if (faults.length === 0 && checked.longestRetryMs < checked.firstRetryMs) {
    faults.push('longestRetryMs must not be less than firstRetryMs')
  }
  if (faults.length === 0 && isServiceGroup(checked.groupId, checked.topic)) {
    faults.push(`groupId ${checked.groupId} is a consumer group of the service itself: choose another one`)
  }
  assertNoFaults(faults)
  return checked
}

/** Adds the defaults. Throws a PlantConsumerError that names every missing or invalid option. */
export function checkReplayOptions(options: ReplayPlantsOptions): CheckedReplayOptions {
  const { set, faults } = validate(options, REPLAY_OPTIONS, ['brokers'])
  assertNoFaults(faults)
  return { ...REPLAY_DEFAULTS, ...set }
}

/** Adds the defaults. Throws a PlantConsumerError that names every missing or invalid option. */
export function checkTableOptions(options: PlantTableOptions): PlantTableOptions & typeof TABLE_DEFAULTS {
  const { set, faults } = validate(options, TABLE_OPTIONS, ['brokers'])
  assertNoFaults(faults)
  return { ...TABLE_DEFAULTS, ...set }
}

/** The options that are set, and the faults of all options as text. */
function validate<T extends object>(
  options: T,
  schemas: Record<keyof T, OptionSchema>,
  required: readonly (keyof T & string)[],
): { set: T; faults: string[] } {
  const set = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
  const names = new Set(set.map(([option]) => option))
  const faults = set.flatMap(([option, value]) => {
    const schema = (schemas as Record<string, OptionSchema>)[option]
    if (schema === undefined) return [`${option} is not an option`]
    return Value.Check(schema, value) ? [] : [`${option} must be ${schema.expected}`]
  })
  for (const option of required) if (!names.has(option)) faults.push(`${option} is missing`)
  const takesEvents = 'onPlantCreated' in schemas
  if (takesEvents && names.has('onPlantCreated') === names.has('onPlantsCreated')) {
    faults.push('set exactly one of onPlantCreated and onPlantsCreated')
  }
  return { set: Object.fromEntries(set) as T, faults }
}

function assertNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new PlantConsumerError('invalid-options', `options: ${faults.join('; ')}`)
}

function isFirstClaims(value: unknown): boolean {
  return typeof (value as Partial<FirstClaims> | null)?.open === 'function'
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
