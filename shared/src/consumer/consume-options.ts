import { type TSchema, Type } from 'typebox'
import type { Security } from '../event-log/connection.ts'
import { isServiceGroup } from '../event-log/groups.ts'
import type { Log } from '../process/log.ts'
import type { FirstClaims } from './first-claims.ts'
import type { DeadLetter, HandlerContext } from './hand-over.ts'
import { a, COMMON_SCHEMAS, call, checkGiven, HOUR_MS, that, whole } from './option-schemas.ts'
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

const SCHEMAS: Record<keyof ConsumeOptions, TSchema> = {
  ...COMMON_SCHEMAS,
  groupId: a('a name of 1 to 249 characters', Type.String({ minLength: 1, maxLength: 249 })),
  onDeadLetter: call,
  firstClaims: that('what inMemory(), inFile() or inReadModel() returns', isFirstClaims),
  from: that(
    "'beginning', 'end', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
    isBegin,
  ),
  maxAttempts: whole(1, 1_000_000),
  firstRetryMs: whole(1, HOUR_MS),
  longestRetryMs: whole(1, HOUR_MS),
  commitEveryMs: whole(10, 60_000),
  stopWithinMs: whole(0, HOUR_MS),
  connectWithinMs: whole(0, HOUR_MS),
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
  const { given, faults } = checkGiven(options, SCHEMAS)
  const names = new Set(given.map(([name]) => name))
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

function isBegin(value: unknown): boolean {
  if (value === 'beginning' || value === 'end') return true
  if (typeof value !== 'object' || value === null) return false
  const { time, positions } = value as { time?: unknown; positions?: unknown }
  if (time !== undefined)
    return positions === undefined && time instanceof Date && !Number.isNaN(time.getTime())
  return positions instanceof Map && [...positions].flat().every((n) => Number.isSafeInteger(n) && n >= 0)
}
