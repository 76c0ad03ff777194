import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import type { Field } from './fields.ts'

/** A JSON object without others in it, also within a text in quotes or a template of TypeScript. */
const OBJECT = /\{(?:[^{}]|\$\{[^{}]*\})*\}/g
const KEY = /(\\?")(\w+)\1\s*:/g
/** Its name: a text, or what stands for any value in a template. */
const NAME = /(\\?")name\1\s*:\s*(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:\\.|[^"\\])*"|\$\{[^{}]*\}|(?:\d|null)+)/
const ID_TEXT = /\bid\\?"\s*:\s*\\?"/
const ID_NUMBER = /\bid\\?"\s*:\s*(?:-?\d|\$\{)/
const RECORD = ['id', ...PLANT_FIELDS.fields.map(({ name }) => name)]
/** In a line of the corpus: what a reader finds in a record. */
const FOUND = /"is":"readable"(?:[^"}]|"(?:\\.|[^"\\])*")*(?=\})/g

/** Adds the required ones of these fields, with examples, to the records that a text contains as JSON. */
export function completingWith(fields: readonly Field[]) {
  const required = fields.filter((field) => field.required !== undefined)
  const names = required.map(({ name }) => name)
  /** In an event, each value is a text. */
  const members = (quote: string, isEvent: boolean, gap: string) =>
    required
      .map(({ name, required: value }) => {
        const json = isEvent || typeof value === 'string' ? `${quote}${value}${quote}` : value
        return `,${gap}${quote}${name}${quote}:${gap}${json}`
      })
      .join('')

  /** Objects that have a name, and a number as their id or nothing that a record does not have. */
  const records = (text: string): string =>
    text.replace(OBJECT, (object) => {
      const keys = [...object.matchAll(KEY)].map(([, , name = '']) => name)
      const isRecord = ID_NUMBER.test(object) || keys.every((key) => RECORD.includes(key))
      if (!isRecord || /,\s*\$\{/.test(object)) return object
      const gap = object.includes('": ') ? ' ' : ''
      return object.replace(NAME, (name, quote) => name + members(quote, ID_TEXT.test(object), gap))
    })

  return {
    records,

    /** The payload of an event, of any form that its readers accept. */
    payload(text: string): string {
      const completed = records(text)
      const isLeft = typeof objectIn(text).name === 'string' && !names.every((name) => name in objectIn(completed))
      return isLeft ? text.replace(/\s*\}\s*$/, (end) => members('"', true, '') + end) : completed
    },

    found: (lines: string): string => lines.replace(FOUND, (found) => found + members('"', true, '')),
  }
}

/** Nothing for what is no JSON. */
function objectIn(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}
