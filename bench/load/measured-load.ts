import { cpuBetween, readCpu } from '../measure/cpu.ts'
import type { Latency } from './latency.ts'

/** What a load process is to do. */
export type LoadOrder = {
  url: string
  token: string
  connections: number
  /** How long the load runs before the measurement. */
  warmUpMs: number
  measuredMs: number
  /** The pids, by name, of the processes whose CPU is measured. */
  processes: ReadonlyMap<string, number>
}

export type MeasuredLoad = {
  seconds: number
  /** Begin and end of the measurement in µs, by the clock of `process.hrtime`. */
  fromMicros: number
  toMicros: number
  /** Responses 200 within the measured time. */
  good: number
  latency: Latency
  /** CPU seconds within the measured time, by process, including the load itself. */
  cpuSeconds: ReadonlyMap<string, number>
  /** Ids of creates with a response 200, also before and after the measured time. */
  acknowledged: BigUint64Array
  /** How often each other response or error occurred, at any time, by its description. */
  unexpected: ReadonlyMap<string, number>
}

/** The name of the load's own process in `cpuSeconds`. */
export const LOAD = 'load'

/** µs of CPU per create, by process, without the load; and those of the load, which shares the machine. */
export function microsOf({ cpuSeconds, good }: MeasuredLoad): {
  cpuMicros: Record<string, number>
  loadMicros: number
} {
  const micros = [...cpuSeconds].map(([name, seconds]) => [name, (seconds / good) * 1e6] as const)
  return {
    cpuMicros: Object.fromEntries(micros.filter(([name]) => name !== LOAD)),
    loadMicros: micros.find(([name]) => name === LOAD)?.[1] ?? Number.NaN,
  }
}

/** Counts responses; the measured time is that between `begin` and `end`. */
export function createTally(processes: ReadonlyMap<string, number>) {
  const withOwn = new Map([...processes, [LOAD, process.pid]])
  const acknowledged: bigint[] = []
  const unexpected = new Map<string, number>()
  let measuring = false
  let good = 0
  let cpu = new Map<string, number>()
  let fromMicros = 0

  return {
    isMeasuring: () => measuring,

    acknowledge(id: bigint): void {
      acknowledged.push(id)
      if (measuring) good++
    },

    /** A response 200 to a request that creates nothing. */
    good(): void {
      if (measuring) good++
    },

    note(what: string): void {
      unexpected.set(what, (unexpected.get(what) ?? 0) + 1)
    },

    begin(): void {
      cpu = readCpu(withOwn)
      fromMicros = nowMicros()
      measuring = true
    },

    end(): Pick<MeasuredLoad, 'seconds' | 'fromMicros' | 'toMicros' | 'cpuSeconds' | 'good'> {
      measuring = false
      const toMicros = nowMicros()
      const seconds = (toMicros - fromMicros) / 1e6
      return { seconds, fromMicros, toMicros, cpuSeconds: cpuBetween(cpu, readCpu(withOwn)), good }
    },

    result: () => ({ acknowledged: BigUint64Array.from(acknowledged), unexpected }),
  }
}

function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
