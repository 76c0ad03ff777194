import { readFileSync } from 'node:fs'
import { SDK_SETTINGS } from '@plant-store/shared/tracing/tracing-settings.ts'
import { describe, expect, it } from 'vitest'
import { FAILURES_OF_EVERY_OPERATION } from '../openapi/operation.ts'
import { ApiSettings } from '../settings.ts'
import { bodyOf, ERRORS, type Failure, headersOf } from './errors.ts'

const readRoot = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
const read = (page: string) => readRoot(`docs/reference/${page}`)

type Setting = { default?: string | number; minimum?: number; maximum?: number }

describe('the table of failures', () => {
  it('gives each failure a number of its own, and the reference has them all, and no other, in order', () => {
    const numbers = Object.values(ERRORS).map(([number]) => number)
    expect(new Set(numbers).size).toBe(numbers.length)
    const documented = [...read('http-api.md').matchAll(/^\| (\d{5}) \|/gm)]
    expect(documented.map(([, number]) => Number(number))).toEqual(numbers)
  })

  it('has Retry-After for exactly those failures after which a retry helps', () => {
    const failures = Object.keys(ERRORS) as Failure[]
    const retried = ['unavailable', 'notWritten', 'outcomeUnknown', 'coverageGap', 'overloaded', 'tokensUncheckable']
    expect(failures.filter((failure) => headersOf(failure)['retry-after'] !== undefined)).toEqual(retried)
  })

  it('failures that reads and creates share speak of neither', () => {
    for (const failure of [...FAILURES_OF_EVERY_OPERATION, 'coverageGap'] as const)
      expect(ERRORS[failure][1]).not.toMatch(/stored|this id/)
  })
})

it.each(['README.md', 'docs/getting-started.md'])('%s shows the response to a duplicate id', (path) => {
  expect(readRoot(path)).toContain(`\n${JSON.stringify(bodyOf('duplicateId'))}\n`)
})

describe('the reference of the settings', () => {
  const rows = new Map(
    ['api, projector and plantctl', 'api']
      .map((section) => read('settings.md').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
      .flatMap((text) => [...text.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|/gm)])
      .map(([, name = '', fallback = '', values = '']) => [name, { fallback, values }]),
  )
  const all = Object.entries(ApiSettings.properties as Record<string, Setting>)
  const settings = all.filter(([name]) => !(name in SDK_SETTINGS))

  it('has every setting of the api but those of the SDK of OpenTelemetry, and no other', () => {
    expect([...rows.keys()].toSorted()).toEqual(settings.map(([name]) => name).toSorted())
  })

  it.each(settings)('has %s with its default', (name, setting) => {
    const fallback = setting.default === undefined ? /^(required|unset)$/ : `\`${setting.default}\``
    expect(rows.get(name)?.fallback).toEqual(typeof fallback === 'string' ? fallback : expect.stringMatching(fallback))
  })

  it.each(settings.filter(([, { minimum }]) => minimum !== undefined))(
    'has %s with its range',
    (name, { minimum, maximum }) => {
      expect(rows.get(name)?.values.split(';')[0]).toBe(`${minimum} to ${maximum}`)
    },
  )
})
