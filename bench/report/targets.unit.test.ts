import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { median } from '../measure/spread.ts'
import { results } from './generated-results.ts'
import { cpuOf, type Results } from './results.ts'
import { againstTargets } from './targets.ts'

const runsOf = ({ creates }: Results, name: string) => creates.find(({ row }) => row === name)?.runs ?? []
const NOTHING: Results = {
  ...{
    measuredAt: '2026-01-01',
    stolenShare: undefined,
    machine: '',
    versions: '',
    connections: 1,
    effort: { rounds: 1, seconds: 1, leftOut: [] },
  },
  ...{ creates: [], openLoad: [], projections: undefined },
}

describe('the targets', () => {
  it('are all judged by a full run, except growth and scale, which have benchmarks of their own', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const targets = againstTargets(measured)
        expect([...new Set(targets.map(({ number }) => number))]).toEqual([...Array(13).keys()].map((n) => n + 1))
        const unmeasured = targets.filter(({ verdict }) => verdict === 'not measured')
        expect(unmeasured.map(({ number }) => number)).toEqual([9, 12, 12])
      }),
    )
  })

  it('are judged by the median of the ratios of each round', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const [own, none] = [runsOf(measured, 'this-service'), runsOf(measured, 'no-store')]
        const ratio = median(own.map((run, n) => run.perSecond / (none[n]?.perSecond ?? 0)))
        const verdict = ratio >= 0.75 ? 'stretch met' : ratio >= 0.6 ? 'met' : 'missed'
        expect(againstTargets(measured).find(({ number }) => number === 1)?.verdict).toBe(verdict)
        const cpu = median(own.map((run, n) => cpuOf(run) / cpuOf(none[n] ?? { cpuMicros: {} })))
        const cpuVerdict = cpu <= 1.7 ? 'stretch met' : cpu <= 2.1 ? 'met' : 'missed'
        expect(againstTargets(measured).find(({ number }) => number === 11)?.verdict).toBe(cpuVerdict)
      }),
    )
  })

  it('are never met without a measurement', () => {
    for (const { verdict, measured } of againstTargets(NOTHING))
      expect([verdict, measured]).toEqual(['not measured', undefined])
  })

  it('are not met where CPU cannot be read', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const creates = measured.creates.map((row) => ({
          ...row,
          runs: row.runs.map((run) => ({ ...run, cpuMicros: {} })),
        }))
        const verdicts = againstTargets({ ...measured, creates })
        expect(verdicts.find(({ number }) => number === 11)?.verdict).toBe('not measured')
      }),
    )
  })
})
