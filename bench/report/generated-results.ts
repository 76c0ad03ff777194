import fc from 'fast-check'
import { RATES_PER_SECOND } from '../side-by-side/open-load.ts'
import type { Results } from './results.ts'

const amount = fc.double({ min: 1, max: 1e6, noNaN: true })
const latency = fc.record({ p50: amount, p90: amount, p99: amount, p999: amount, max: amount })

const PROCESSES: Record<string, readonly string[]> = {
  'this-service': ['api', 'projector', 'broker', 'Redis'],
  'no-store': ['api'],
  'producer-send': ['api', 'broker'],
  postgres: ['api', 'PostgreSQL'],
  'postgres-no-fsync': ['api', 'PostgreSQL'],
  emmett: ['api', 'PostgreSQL'],
}

const cpuOf = (processes: readonly string[]) =>
  fc
    .array(amount, { minLength: processes.length, maxLength: processes.length })
    .map((micros) => Object.fromEntries(processes.map((name, n) => [name, micros[n] as number])))

const createsRow = (row: string, rounds: number) =>
  fc.record({
    row: fc.constant(row),
    name: fc.constant(`the ${row}`),
    promise: fc.constant('kept'),
    runs: fc.array(
      fc.record({
        perSecond: amount,
        cpuMicros: cpuOf(PROCESSES[row] ?? []),
        loadMicros: amount,
        oneClient: latency,
      }),
      { minLength: rounds, maxLength: rounds },
    ),
  })

const overload = fc.record({
  ...{ peakPerSecond: amount, offeredPerSecond: amount, goodPerSecond: amount, refusedPerSecond: amount },
  ...{ givenUp: fc.nat(), loadCores: amount },
})

const atRate = (row: string, ratePerSecond: number) =>
  fc.record({
    ratePerSecond: fc.constant(ratePerSecond),
    ...{ latency, sentLate: latency, cpuMicros: cpuOf(PROCESSES[row] ?? []) },
    lag: row === 'this-service' ? latency : fc.constant(undefined),
  })

const openLoadRow = (row: string) =>
  fc.record({
    row: fc.constant(row),
    name: fc.constant(`the ${row}`),
    runs: fc.array(
      fc.record({
        atRates: fc.tuple(...RATES_PER_SECOND.map((rate) => atRate(row, rate))),
        overload: row === 'this-service' ? overload : fc.constant(undefined),
      }),
      { minLength: 2, maxLength: 2 },
    ),
  })

const READERS = [
  'kafkajs alone, doing nothing',
  'decoded by the follower',
  'replayed into Redis',
  'rebuilt: filled, verified, switched to',
] as const

const projected = (reader: (typeof READERS)[number]) =>
  fc.record({
    reader: fc.constant(reader),
    runs: fc.array(
      fc.record({
        ...{ eventsPerSecond: amount, cpuMicros: amount, redisMicros: amount, redisBytesPerEvent: amount },
      }),
      { minLength: 2, maxLength: 2 },
    ),
  })

/** All that a run may have measured. */
export const results: fc.Arbitrary<Results> = fc.integer({ min: 1, max: 4 }).chain((rounds) =>
  fc.record({
    ...{
      measuredAt: fc.constant('2026-01-01'),
      machine: fc.constant('a machine'),
      versions: fc.constant('1.0'),
      stolenShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    },
    connections: fc.constant(256),
    effort: fc.constant({ rounds, seconds: 1, leftOut: [] }),
    creates: fc.tuple(...Object.keys(PROCESSES).map((row) => createsRow(row, rounds))),
    openLoad: fc.tuple(openLoadRow('this-service'), openLoadRow('postgres')),
    projections: fc.record({
      ...{ events: fc.constant(1_000), partitions: fc.constant(12) },
      readers: fc.tuple(...READERS.map(projected)),
    }),
  }),
)
