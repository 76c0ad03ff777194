import { MAX_FIELDS, RESERVED } from '@plant-store/shared/plant/fields.ts'
import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import { Failure } from '../processes/failure.mjs'

/** A field of the copy: its line in the declaration, and the function that the line calls. */
export type Field = { kind: string; line: string }

/** Form of `--field`: a name, a kind, and a mark, as in `state:enum(open|paid)?`. */
const FORM = /^(?<name>[^:]*):(?<kind>text|int64|enum\((?<values>[^()]*)\))(?<optional>\?)?$/
const NAME = /^[a-z][A-Za-z0-9]*$/
const VALUE = /^[A-Za-z0-9_-]+$/

/** The fields that these options declare, next to those that the declaration has. Throws a Failure. */
export function fieldsOf(specs: readonly string[], record: string): Field[] {
  const names = new Set(PLANT_FIELDS.fields.map(({ name }) => name))
  const fields = specs.map((spec) => {
    const refuse = (reason: string) => new Failure(`--field '${spec}': ${reason}`)
    const { name = '', kind = '', values, optional } = FORM.exec(spec)?.groups ?? {}
    if (kind === '') throw refuse("write NAME:KIND?, where KIND is text, int64, or enum(A|B), as in 'priority:int64?'.")
    if (!NAME.test(name)) throw refuse('begin the name with a lower-case letter, and use letters and digits only.')
    if (RESERVED.includes(name) || name in {}) throw refuse(`${name} is reserved. Give another name.`)
    if (names.has(name)) throw refuse(`${name} is declared already. Give another name.`)
    if (optional === undefined) throw refuse(`a field next to name must be optional. Write '${spec}?'.`)
    const options = values?.split('|') ?? []
    if (
      values !== undefined &&
      (!options.every((value) => VALUE.test(value)) || new Set(options).size < options.length)
    )
      throw refuse('give each value once, of letters, digits, - and _, as in enum(open|paid).')
    names.add(name)
    return declared(name, kind, options, record)
  })
  if (names.size > MAX_FIELDS)
    throw new Failure(`--field: ${names.size} fields with name and tag, at most ${MAX_FIELDS}.`)
  return fields
}

function declared(name: string, kind: string, values: readonly string[], record: string): Field {
  // An added field leaves what events and hashes have without it.
  const start = `'added', 'The ${name} of the ${record}'`
  if (kind === 'text') return { kind, line: `${name}: text(${start}, ['${name} 1'], MAX_TEXT_CODE_POINTS),` }
  if (kind === 'int64') return { kind, line: `${name}: int64(${start}, [1n]),` }
  const list = values.map((value) => `'${value}'`).join(', ')
  return { kind: 'enumeration', line: `${name}: enumeration(${start}, [${list}]),` }
}
