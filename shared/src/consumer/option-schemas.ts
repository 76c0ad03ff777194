import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Log } from '../process/log.ts'

/** A schema with what it expects, in words. */
export const a = <T extends TSchema>(expected: string, schema: T) => Object.assign(schema, { expected })

export const that = (expected: string, check: (value: unknown) => boolean) =>
  a(
    expected,
    Type.Refine(Type.Unknown(), check, () => expected),
  )

export const whole = (minimum: number, maximum: number) =>
  a(`a whole number from ${minimum} to ${maximum}`, Type.Integer({ minimum, maximum }))

export const call = that('a function', (value) => typeof value === 'function')
const anObject = that('an object', (value) => typeof value === 'object' && value !== null)

export const HOUR_MS = 3_600_000

/** What may be told to whatever reads a topic. */
export const COMMON_SCHEMAS = {
  brokers: a(
    "a list of brokers, each 'host:port'",
    Type.Array(Type.String({ pattern: '^[^,\\s]+:\\d+$' }), { minItems: 1 }),
  ),
  topic: a('a Kafka topic name', Type.String({ pattern: '^[a-zA-Z0-9._-]{1,249}$' })),
  clientId: a('a name', Type.String({ minLength: 1, maxLength: 249 })),
  onPlantCreated: call,
  onPlantsCreated: call,
  onParked: call,
  log: that('an object with debug, info, warn and error', isLog),
  ssl: a('true, false or options of tls.connect', Type.Union([Type.Boolean(), anObject])),
  sasl: anObject,
  maxBatch: whole(1, 10_000),
  signal: that('an AbortSignal', (value) => value instanceof AbortSignal),
}

/** The options that are given, and what is wrong with them: each that is none, or not as its schema has it. */
export function checkGiven(options: object, schemas: Readonly<Record<string, TSchema>>) {
  // In JavaScript there may be none at all.
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
  const faults = given.flatMap(([name, value]) => {
    const schema = schemas[name]
    if (schema === undefined) return [`${name} is no option`]
    return Value.Check(schema, value)
      ? []
      : [`${name} must be ${(schema as unknown as { expected: string }).expected}`]
  })
  return { given, faults }
}

function isLog(value: unknown): boolean {
  const log = value as Partial<Log> | null
  return [log?.debug, log?.info, log?.warn, log?.error].every((write) => typeof write === 'function')
}
