import { readFileSync } from 'node:fs'
import { SDK_SETTINGS } from '@plant-store/shared/tracing/tracing-settings.ts'
import { describe, expect, it } from 'vitest'
import { ApiSettings } from '../settings.ts'
import { bodyOf, ERRORS } from './errors.ts'

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

type Setting = { default?: string | number; minimum?: number; maximum?: number }

it('each failure has a number of its own, and the reference has them all, and no other, in order', () => {
  const numbers = Object.values(ERRORS).map(([number]) => number)
  expect(new Set(numbers).size).toBe(numbers.length)
  const documented = [...read('docs/reference/http-api.md').matchAll(/^\| (\d{5}) \|/gm)]
  expect(documented.map(([, number]) => Number(number))).toEqual(numbers)
})

it.each(['README.md', 'docs/getting-started.md'])('%s shows the response to a duplicate id', (path) => {
  expect(read(path)).toContain(`\n${JSON.stringify(bodyOf('duplicateId'))}\n`)
})

describe('the reference of the settings', () => {
  const rows = new Map(
    ['api, projector and plantctl', 'api']
      .map((section) => read('docs/reference/settings.md').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
      .flatMap((text) => [...text.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|/gm)])
      .map(([, name = '', fallback = '', values = '']) => [name, { fallback, values }]),
  )
  const all = Object.entries(ApiSettings.properties as Record<string, Setting>)
  const settings = all.filter(([name]) => !(name in SDK_SETTINGS))

  it('has every setting of the api but those of the SDK of OpenTelemetry, and no other', () => {
    expect([...rows.keys()].toSorted()).toEqual(settings.map(([name]) => name).toSorted())
  })

  it.each(settings)('has %s with its default and its range', (name, { default: value, minimum, maximum }) => {
    const { fallback, values } = rows.get(name) ?? {}
    expect(fallback).toMatch(value === undefined ? /^(required|unset)$/ : `\`${value}\``)
    if (minimum !== undefined) expect(values?.split(';')[0]).toBe(`${minimum} to ${maximum}`)
  })
})
