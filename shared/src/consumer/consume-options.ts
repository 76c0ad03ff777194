import type { Security } from '../event-log/connection.ts'
import { isServiceGroup } from '../event-log/groups.ts'
import type { Log } from '../runtime/log.ts'
import type { FirstClaims } from './first-claims/first-claims.ts'
import type { DeadLetter, HandlerContext } from './hand-over.ts'
import {
  assertNoFaults,
  type Begin,
  begin,
  call,
  examine,
  name,
  READER_OPTIONS,
  that,
  whole,
} from './options.ts'
import type { PlantCreated } from './plant-created-event.ts'
import type { ParkedRecord } from './plant-record.ts'

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

const HOUR_MS = 3_600_000

const OPTIONS = {
  ...READER_OPTIONS,
  groupId: name,
  onDeadLetter: call,
  firstClaims: that('what inMemory(), inFile() or inReadModel() returns', isFirstClaims),
  from: begin,
  maxAttempts: whole(1, 1_000_000),
  firstRetryMs: whole(1, HOUR_MS),
  longestRetryMs: whole(1, HOUR_MS),
  commitEveryMs: whole(10, 60_000),
  stopWithinMs: whole(0, HOUR_MS),
  connectWithinMs: whole(0, HOUR_MS),
}

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
  const { given, faults } = examine(options, OPTIONS, ['brokers', 'groupId'])
  const checked = { ...DEFAULTS, ...given }
  if (faults.length === 0 && checked.longestRetryMs < checked.firstRetryMs) {
    faults.push('longestRetryMs must not be less than firstRetryMs')
  }
  if (faults.length === 0 && isServiceGroup(checked.groupId, checked.topic)) {
    faults.push(`groupId ${checked.groupId} is a group of the service itself: give one of your own`)
  }
  assertNoFaults(faults)
  return checked
}

function isFirstClaims(value: unknown): boolean {
  return typeof (value as Partial<FirstClaims> | null)?.open === 'function'
}
