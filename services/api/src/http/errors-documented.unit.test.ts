import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ApiSettings } from '../settings.ts'
import { ERRORS } from './errors.ts'

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
const page = read('docs/reference/http-api.md')

describe("the clients' page", () => {
  it('has every number of the table of failures, and no other, in order', () => {
    const numbers = [...page.matchAll(/^\| (\d{5}) \|/gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(Object.values(ERRORS).map(([number]) => number))
  })

  it('tells the limits that the settings have', () => {
    const rows = [...page.matchAll(/^\| (`[A-Z].*?) \| (\d+(?:, \d+)*)(?:: none)? \|/gm)]
    const told = rows.flatMap(([, names = '', values = '']) => {
      const defaults = values.split(', ').map(Number)
      return [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = ''], n) => [name, defaults[n]] as const)
    })
    const properties = ApiSettings.properties as Record<string, { default?: number }>
    expect(told.length).toBeGreaterThan(14)
    expect(told).toEqual(told.map(([name]) => [name, properties[name]?.default]))
  })
})
