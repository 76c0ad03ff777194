import { MAX_FIELDS, RESERVED } from '@plant-store/shared/plant/fields.ts'
import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import { Failure } from '../processes/failure.mjs'

/** A field of the copy: its line in the declaration, the function that the line calls, and an example if required. */
export type Field = { name: string; kind: string; line: string; required?: string | number }

/** Form of `--field`: a name, a kind, and the mark of an optional one, as in `state:enum(open|paid)?`. */
const FORM = /^(?<name>[^:]*):(?<kind>text|int64|enum\((?<values>[^()]*)\))(?<optional>\?)?$/
const NAME = /^[a-z][A-Za-z0-9]*$/
const VALUE = /^[A-Za-z0-9_-]+$/

/** The fields that these options declare, next to those that the declaration has. Throws a Failure. */
export function fieldsOf(specs: readonly string[], record: string): Field[] {
  const names = new Set(PLANT_FIELDS.fields.map(({ name }) => name))
  const fields = specs.map((spec) => {
    const refuse = (reason: string) => new Failure(`--field '${spec}': ${reason}`)
    const { name = '', kind = '', values, optional } = FORM.exec(spec)?.groups ?? {}
    if (kind === '')
      throw refuse("write NAME:KIND or NAME:KIND?, where KIND is text, int64, or enum(A|B), as in 'priority:int64?'.")
    if (!NAME.test(name)) throw refuse('begin the name with a lower-case letter, and use letters and digits only.')
    if (RESERVED.includes(name) || name in {}) throw refuse(`${name} is reserved. Give another name.`)
    if (names.has(name)) throw refuse(`${name} is declared already. Give another name.`)
    const options = values?.split('|') ?? []
    if (
      values !== undefined &&
      (!options.every((value) => VALUE.test(value)) || new Set(options).size < options.length)
    )
      throw refuse('give each value once, of letters, digits, - and _, as in enum(open|paid).')
    names.add(name)
    // An added field leaves what events and hashes have without it.
    const start = `'${optional ? 'added' : 'required'}', 'The ${name} of the ${record}'`
    const field = (called: string, rest: string, example: string | number): Field => ({
      ...{ name, kind: called, line: `${name}: ${called}(${start}, ${rest}),` },
      ...(!optional && { required: example }),
    })
    if (kind === 'text') return field(kind, `['${name} 1'], MAX_TEXT_CODE_POINTS`, `${name} 1`)
    if (kind === 'int64') return field(kind, '[1n]', 1)
    return field('enumeration', `[${options.map((value) => `'${value}'`).join(', ')}]`, options.at(-1) ?? '')
  })
  if (names.size > MAX_FIELDS)
    throw new Failure(`--field: ${names.size} fields with name and tag, at most ${MAX_FIELDS}.`)
  return fields
}
