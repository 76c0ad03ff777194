import type { FastifyError } from 'fastify'
import { OtherNumber } from './json-body.ts'

const MOST_SHOWN_CHARACTERS = 40

type Faults = NonNullable<FastifyError['validation']>

/** All that is wrong with the plant in a body, field by field: what was expected, and what came. */
export function describeFaults(faults: Faults, body: unknown): string {
  return faults.flatMap((fault) => describe(fault, body)).join('; ')
}

function describe(
  { keyword, instancePath, params, message }: Faults[number],
  body: unknown,
): string | string[] {
  const field = instancePath.slice(1)
  if (field === '' && (keyword !== 'required' || body instanceof OtherNumber))
    return `the body must be a JSON object, such as {"id":1,"name":"Fern"}, but it is ${shown(body)}`
  if (keyword === 'required') {
    return (params as { requiredProperties: string[] }).requiredProperties.map((name) => `${name} is missing`)
  }
  const found = (body as Record<string, unknown>)[field]
  if (keyword === 'maxLength') {
    const { limit } = params as { limit: number }
    return `${field} must have at most ${limit} characters (Unicode code points), but it has ${Array.from(String(found)).length}`
  }
  const expected = keyword === 'type' ? 'must be a string' : message
  return `${field} ${expected}, but it is ${shown(found)}`
}

/** A value as a message can quote it: in one short line. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof OtherNumber) return shortened(value.text)
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortened(typeof value === 'bigint' ? String(value) : JSON.stringify(value))
}

function shortened(text: string): string {
  const characters = Array.from(text)
  return characters.length <= MOST_SHOWN_CHARACTERS
    ? text
    : `${characters.slice(0, MOST_SHOWN_CHARACTERS).join('')}…`
}
