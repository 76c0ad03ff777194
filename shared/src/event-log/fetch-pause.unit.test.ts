import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFetchPause } from './fetch-pause.ts'

const OPTIONS = { aboveRecords: 8, ms: 5 }

function pauseAt(now: () => number, options = OPTIONS) {
  return createFetchPause(options, { now })
}

it('is none after few records, however fast they come', () => {
  let now = 0
  const pause = pauseAt(() => now)
  expect(pause.leftMs()).toBe(0)
  for (; now < 1_000; now++) {
    pause.took(1)
    expect(pause.leftMs()).toBe(0)
  }
})

it('lasts from the first record on after many, of one partition or of several, and then ends', () => {
  let now = 100
  const pause = pauseAt(() => now)
  pause.took(5)
  expect(pause.leftMs()).toBe(0)
  now = 102
  pause.took(4)
  expect(pause.leftMs()).toBe(3)
  now = 105
  expect(pause.leftMs()).toBe(0)
  pause.took(8)
  expect(pause.leftMs()).toBe(0)
  pause.took(1)
  expect(pause.leftMs()).toBe(5)
})

it('does not lengthen what the intake took', () => {
  let now = 0
  const pause = pauseAt(() => now)
  pause.took(1_000)
  now = 60
  expect(pause.leftMs()).toBe(0)
})

it('is never longer than it may be, and none but after more records than it takes within that time', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(8), records: fc.nat(12) }), { maxLength: 40 })
  fc.assert(
    fc.property(steps, (all) => {
      let now = 0
      const pause = pauseAt(() => now)
      const taken: { at: number; records: number }[] = []
      for (const { afterMs, records } of all) {
        now += afterMs
        pause.took(records)
        taken.push({ at: now, records })
        const within = taken.filter(({ at }) => at > now - OPTIONS.ms)
        const sum = within.reduce((total, each) => total + each.records, 0)
        expect(pause.leftMs()).toBeLessThanOrEqual(sum > OPTIONS.aboveRecords ? OPTIONS.ms : 0)
      }
    }),
  )
})
