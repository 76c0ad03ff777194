import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { PreconditionError } from './failures.ts'

/** A port of this machine; 0 means any free one. */
export const Port = (fallback: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: fallback })

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
