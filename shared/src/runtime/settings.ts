import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { PreconditionError } from './failures.ts'

/** A port of this machine; 0 means any free one. */
export const Port = (fallback: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: fallback })

/** The settings that name a store: its log in Kafka and its read model in Redis. */
export const STORE_SETTINGS = {
  KAFKA_BROKERS: Type.String({
    pattern: '^[^,\\s]+:\\d+(,[^,\\s]+:\\d+)*$',
    expected: 'host:port, or several separated by commas',
  }),
  REDIS_URL: Type.String({
    pattern: '^rediss?://.+',
    expected: 'redis://host:port or rediss://user:password@host:port',
    secret: true,
  }),
  PLANTS_TOPIC: Type.String({
    pattern: '^[a-zA-Z0-9._-]{1,249}$',
    default: 'plants',
    expected: 'a Kafka topic name',
  }),
  PLANTS_PARTITIONS: Type.Integer({ minimum: 1, maximum: 1_000, default: 12 }),
}

/** The settings of every service but its ports. */
export const SERVICE_SETTINGS = {
  ...STORE_SETTINGS,
  HOST: Type.String({ default: '127.0.0.1' }),
  LOG_LEVEL: Type.Enum(['debug', 'info', 'warn', 'error'], { default: 'info' }),
}

export type StoreSettings = Static<TObject<typeof STORE_SETTINGS>>
export type ServiceSettings = Static<TObject<typeof SERVICE_SETTINGS>> & { OPS_PORT: number }

/**
 * Reads settings from the environment. Throws a PreconditionError that names every missing or invalid setting, with
 * what is expected. An empty variable counts as unset.
 */
export function readSettings<T extends TObject>(schema: T, env: NodeJS.ProcessEnv): Static<T> {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = env[name] ? parse(property, env[name]) : Value.Default(property, undefined)
    if (Value.Check(property, value)) values[name] = value
    else if (!Type.IsOptional(property) || env[name]) faults.push(describe(name, property, env[name]))
  }
  if (faults.length > 0) throw new PreconditionError(`settings: ${faults.join('; ')}`)
  return values as Static<T>
}

// Not TypeBox's own conversion: it turns "1.5" and "true" into 1.
function parse(property: TSchema, text: string): string | number {
  return Type.IsInteger(property) && /^-?\d+$/.test(text) ? Number(text) : text
}

type Described = { expected?: string; minimum?: number; maximum?: number; enum?: string[]; secret?: boolean }

function describe(name: string, property: TSchema, found: string | undefined): string {
  const { expected, minimum, maximum, enum: choices, secret } = property as Described
  const range = minimum === undefined ? choices?.join(' or ') : `a whole number from ${minimum} to ${maximum}`
  const wanted = expected ?? range ?? 'a value'
  if (!found) return `${name} is missing: set it to ${wanted}`
  return `${name} must be ${wanted}${secret ? '' : ` (it is "${found.slice(0, 60)}")`}`
}
