import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Security } from '../event-log/connection.ts'
import { isServiceGroup } from '../event-log/groups.ts'
import type { Log } from '../process/log.ts'
import type { FirstClaims } from './first-claims/first-claims.ts'
import type { DeadLetter, HandlerContext } from './hand-over.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import type { PlantCreated } from './plant-created-event.ts'
import type { ParkedRecord } from './plant-record.ts'

/** Where a group begins that has committed nothing yet. */
export type Begin =
  | 'beginning'
  /** What is written from now on. */
  | 'end'
  /** The first record of each partition with this timestamp or a later one. */
  | { time: Date }
  /** The next offset of each partition. */
  | { positions: ReadonlyMap<number, number> }

type Given<T> = T | Promise<T>

export type ConsumeOptions = Security & {
  /** Some of the brokers, each `host:port`. */
  brokers: readonly string[]
  /** All processes of one group share the partitions; the group's position is kept in Kafka under this name. */
  groupId: string
  /** Called with each plant, one at a time for each partition. Either this or `onPlantsCreated`. */
  onPlantCreated?(event: PlantCreated, context: HandlerContext): Given<unknown>
  /** Called with up to `maxBatch` plants of one partition, in log order. */
  onPlantsCreated?(events: PlantCreated[], context: HandlerContext): Given<unknown>
  /** Default: plants. */
  topic?: string
  clientId?: string
  /** Default: warnings and errors to the console. */
  log?: Log
  /** What is known of the first claims, and where. Default: inMemory(). */
  firstClaims?: FirstClaims
  /** Counts only where the group has committed nothing. Default: beginning. */
  from?: Begin
  /** Default 500. */
  maxBatch?: number
  /** After so many failures in a row `onDeadLetter` is called, if it is given. Default 5. */
  maxAttempts?: number
  /** The wait after a first failure; it doubles with each other. Default 250. */
  firstRetryMs?: number
  /** Default 5,000. */
  longestRetryMs?: number
  /** Takes what failed for the last time. Without it a handler is called again for ever. When it throws, that is one more failure. */
  onDeadLetter?(letter: DeadLetter, context: HandlerContext): Given<unknown>
  /** Takes records that are no events, or can't be read. Treated as a handler; without it they are logged. */
  onParked?(record: ParkedRecord, context: HandlerContext): Given<unknown>
  /** How often the group's position is committed. Default 1,000. */
  commitEveryMs?: number
  /** How long `stop` lets handlers finish. Default 10,000. */
  stopWithinMs?: number
  /** How long Kafka may be away when the consumer begins. Default 60,000. */
  connectWithinMs?: number
  /** Stops the consumer. */
  signal?: AbortSignal
}

const a = <T extends TSchema>(expected: string, schema: T) => Object.assign(schema, { expected })

const that = (expected: string, check: (value: unknown) => boolean) =>
  a(
    expected,
    Type.Refine(Type.Unknown(), check, () => expected),
  )

const whole = (minimum: number, maximum: number) =>
  a(`a whole number from ${minimum} to ${maximum}`, Type.Integer({ minimum, maximum }))

const call = that('a function', (value) => typeof value === 'function')
const anObject = that('an object', (value) => typeof value === 'object' && value !== null)

const HOUR_MS = 3_600_000

const SCHEMAS: Record<keyof ConsumeOptions, TSchema> = {
  brokers: a(
    "a list of brokers, each 'host:port'",
    Type.Array(Type.String({ pattern: '^[^,\\s]+:\\d+$' }), { minItems: 1 }),
  ),
  groupId: a('a name of 1 to 249 characters', Type.String({ minLength: 1, maxLength: 249 })),
  topic: a('a Kafka topic name', Type.String({ pattern: '^[a-zA-Z0-9._-]{1,249}$' })),
  clientId: a('a name', Type.String({ minLength: 1, maxLength: 249 })),
  onPlantCreated: call,
  onPlantsCreated: call,
  onDeadLetter: call,
  onParked: call,
  firstClaims: that('what inMemory(), inFile() or inReadModel() returns', isFirstClaims),
  from: that(
    "'beginning', 'end', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
    isBegin,
  ),
  log: that('an object with debug, info, warn and error', isLog),
  ssl: a('true, false or options of tls.connect', Type.Union([Type.Boolean(), anObject])),
  sasl: anObject,
  maxBatch: whole(1, 10_000),
  maxAttempts: whole(1, 1_000_000),
  firstRetryMs: whole(1, HOUR_MS),
  longestRetryMs: whole(1, HOUR_MS),
  commitEveryMs: whole(10, 60_000),
  stopWithinMs: whole(0, HOUR_MS),
  connectWithinMs: whole(0, HOUR_MS),
  signal: that('an AbortSignal', (value) => value instanceof AbortSignal),
}
const REQUIRED = ['brokers', 'groupId'] as const

const DEFAULTS = {
  topic: 'plants',
  clientId: 'plant-consumer',
  from: 'beginning' as Begin,
  maxBatch: 500,
  maxAttempts: 5,
  firstRetryMs: 250,
  longestRetryMs: 5_000,
  commitEveryMs: 1_000,
  stopWithinMs: 10_000,
  connectWithinMs: 60_000,
}

export type CheckedOptions = ConsumeOptions & typeof DEFAULTS

/** Throws a PlantConsumerError that names every option that is missing or wrong, with what is expected. */
export function checkOptions(options: ConsumeOptions): CheckedOptions {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
  const names = new Set(given.map(([name]) => name))
  const faults = given.flatMap(([name, value]) => {
    const schema = (SCHEMAS as Record<string, TSchema>)[name]
    if (schema === undefined) return [`${name} is no option`]
    return Value.Check(schema, value)
      ? []
      : [`${name} must be ${(schema as unknown as { expected: string }).expected}`]
  })
  for (const name of REQUIRED) if (!names.has(name)) faults.push(`${name} is missing`)
  if (names.has('onPlantCreated') === names.has('onPlantsCreated')) {
    faults.push('give one of onPlantCreated and onPlantsCreated, and not both')
  }
  const checked: CheckedOptions = { ...DEFAULTS, ...(Object.fromEntries(given) as ConsumeOptions) }
  if (faults.length === 0 && checked.longestRetryMs < checked.firstRetryMs) {
    faults.push('longestRetryMs must not be less than firstRetryMs')
  }
  if (faults.length === 0 && isServiceGroup(checked.groupId, checked.topic)) {
    faults.push(`groupId ${checked.groupId} is a group of the service itself: give one of your own`)
  }
  if (faults.length > 0) throw new PlantConsumerError('invalid-options', `options: ${faults.join('; ')}`)
  return checked
}

function isFirstClaims(value: unknown): boolean {
  return typeof (value as Partial<FirstClaims> | null)?.open === 'function'
}

function isLog(value: unknown): boolean {
  const log = value as Partial<Log> | null
  return [log?.debug, log?.info, log?.warn, log?.error].every((write) => typeof write === 'function')
}

function isBegin(value: unknown): boolean {
  if (value === 'beginning' || value === 'end') return true
  if (typeof value !== 'object' || value === null) return false
  const { time, positions } = value as { time?: unknown; positions?: unknown }
  if (time !== undefined)
    return positions === undefined && time instanceof Date && !Number.isNaN(time.getTime())
  return positions instanceof Map && [...positions].flat().every((n) => Number.isSafeInteger(n) && n >= 0)
}
