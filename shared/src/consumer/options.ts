import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Log } from '../runtime/log.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'

/** Where delivery begins. */
export type Begin =
  | 'beginning'
  /** What is written from now on. */
  | 'end'
  /** The first record of each partition with this timestamp or a later one. */
  | { time: Date }
  /** The next offset of each partition. */
  | { positions: ReadonlyMap<number, number> }

/** What an option may be, with the words for who gave something else. */
type OptionSchema = TSchema & { expected: string }

export const a = <T extends TSchema>(expected: string, schema: T): OptionSchema =>
  Object.assign(schema, { expected })

export const that = (expected: string, check: (value: unknown) => boolean): OptionSchema =>
  a(
    expected,
    Type.Refine(Type.Unknown(), check, () => expected),
  )

export const whole = (minimum: number, maximum: number): OptionSchema =>
  a(`a whole number from ${minimum} to ${maximum}`, Type.Integer({ minimum, maximum }))

export const name = a('a name of 1 to 249 characters', Type.String({ minLength: 1, maxLength: 249 }))
export const call = that('a function', (value) => typeof value === 'function')

export const begin = that(
  "'beginning', 'end', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
  (value) => value === 'beginning' || value === 'end' || isPlace(value),
)
export const beginOfReplay = that(
  "'beginning', { time: a valid Date } or { positions: a Map of partitions to next offsets }",
  (value) => value === 'beginning' || isPlace(value),
)

const anObject = that('an object', (value) => typeof value === 'object' && value !== null)

/** The options of all who read the log. */
export const READER_OPTIONS = {
  brokers: a(
    "a list of brokers, each 'host:port'",
    Type.Array(Type.String({ pattern: '^[^,\\s]+:\\d+$' }), { minItems: 1 }),
  ),
  topic: a('a Kafka topic name', Type.String({ pattern: '^[a-zA-Z0-9._-]{1,249}$' })),
  clientId: name,
  onPlantCreated: call,
  onPlantsCreated: call,
  onParked: call,
  log: that('an object with debug, info, warn and error', isLog),
  ssl: a('true, false or options of tls.connect', Type.Union([Type.Boolean(), anObject])),
  sasl: anObject,
  maxBatch: whole(1, 10_000),
  signal: that('an AbortSignal', (value) => value instanceof AbortSignal),
}

/** The options that were given, and all that is wrong with them, in words. */
export function examine<T extends object>(
  options: T,
  schemas: Record<keyof T, OptionSchema>,
  required: readonly (keyof T & string)[],
): { given: T; faults: string[] } {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
  const names = new Set(given.map(([option]) => option))
  const faults = given.flatMap(([option, value]) => {
    const schema = (schemas as Record<string, OptionSchema>)[option]
    if (schema === undefined) return [`${option} is no option`]
    return Value.Check(schema, value) ? [] : [`${option} must be ${schema.expected}`]
  })
  for (const option of required) if (!names.has(option)) faults.push(`${option} is missing`)
  if (names.has('onPlantCreated') === names.has('onPlantsCreated')) {
    faults.push('give one of onPlantCreated and onPlantsCreated, and not both')
  }
  return { given: Object.fromEntries(given) as T, faults }
}

/** Throws a PlantConsumerError that names every option that is missing or wrong, with what is expected. */
export function assertNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new PlantConsumerError('invalid-options', `options: ${faults.join('; ')}`)
}

function isLog(value: unknown): boolean {
  const log = value as Partial<Log> | null
  return [log?.debug, log?.info, log?.warn, log?.error].every((write) => typeof write === 'function')
}

function isPlace(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { time, positions } = value as { time?: unknown; positions?: unknown }
  if (time !== undefined)
    return positions === undefined && time instanceof Date && !Number.isNaN(time.getTime())
  return positions instanceof Map && [...positions].flat().every((n) => Number.isSafeInteger(n) && n >= 0)
}
