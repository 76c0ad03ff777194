import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../local/processes/failure.mjs'
import { help, OPEN_LOAD, PROJECTIONS, readOptions } from './options.ts'

const ROWS = ['this-service', 'no-store', 'postgres']
const PARTS = [...ROWS, OPEN_LOAD, PROJECTIONS]

describe('the options', () => {
  it('run everything when none is named, in seven rounds', () => {
    expect(readOptions([], ROWS)).toMatchObject({
      rows: ROWS,
      openLoad: true,
      projections: true,
      rounds: 7,
      write: false,
    })
  })

  it('run what is named and nothing else, in the order of the table', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(PARTS, { minLength: 1 }), (parts) => {
        expect(readOptions(['--only', ...parts], ROWS)).toMatchObject({
          rows: ROWS.filter((row) => parts.includes(row)),
          openLoad: parts.includes(OPEN_LOAD),
          projections: parts.includes(PROJECTIONS),
        })
      }),
    )
  })

  it('of a quick run are less of everything, unless more is requested', () => {
    const [quick, full] = [readOptions(['--quick'], ROWS), readOptions([], ROWS)]
    for (const name of ['rounds', 'measuredMs', 'events'] as const)
      expect(quick?.[name]).toBeLessThan(full?.[name] as number)
    expect(quick?.leftOut).toEqual([OPEN_LOAD, PROJECTIONS])
    expect(full?.leftOut).toEqual([])
    expect(readOptions(['--quick', '--rounds', '9', '--seconds', '11'], ROWS)).toMatchObject({
      rounds: 9,
      measuredMs: 11_000,
    })
  })

  it('that name an unknown part or an invalid number are rejected with the expected values', () => {
    expect(() => readOptions(['--only', 'nothing'], ROWS)).toThrow(
      `--only nothing: expected any of ${PARTS.join(', ')}`,
    )
    expect(() => readOptions(['no-store'], ROWS)).toThrow('--only no-store runs a part alone')
    for (const number of ['0', '-1', '1.5', 'x', '', '1e3', '99999'])
      expect(() => readOptions([`--rounds=${number}`], ROWS)).toThrow(
        `--rounds ${number}: expected a whole number from 1 to 50`,
      )
  })

  it.each([['--nothing'], ['--rounds'], ['--write=yes']])('that are invalid are rejected with a message: %s', (arg) => {
    expect(() => readOptions([arg], ROWS)).toThrow(Failure)
    expect(() => readOptions([arg], ROWS)).toThrow('--help lists the options')
  })

  it('are in the help, which names each part', () => {
    expect(readOptions(['--help'], ROWS)).toBeUndefined()
    for (const part of PARTS) expect(help(ROWS)).toContain(part)
  })
})
