import { cpuBetween, readCpu } from '../measure/cpu.ts'
import type { Latency } from './latency.ts'

/** A load to be made by a process of its own. */
export type LoadOrder = {
  url: string
  token: string
  connections: number
  /** Load that is not measured, before what is. */
  warmUpMs: number
  measuredMs: number
  /** Whose CPU is read at the begin and at the end of what is measured. */
  processes: ReadonlyMap<string, number>
}

export type MeasuredLoad = {
  seconds: number
  /** When, as `process.hrtime` counts on this machine, in microseconds. */
  fromMicros: number
  toMicros: number
  /** Answers 200 within the measured time. */
  good: number
  latency: Latency
  /** Seconds of CPU within the measured time by process, that of the load itself among them. */
  cpuSeconds: ReadonlyMap<string, number>
  /** Ids answered 200, also before and after the measured time. */
  acknowledged: BigUint64Array
  /** Everything else that was answered or happened, at any time, by what it was. */
  unexpected: ReadonlyMap<string, number>
}

/** The load's own process, among those whose CPU is reported. */
export const LOAD = 'load'

/** Notes answers, and what of them falls into the measured time, between `begin` and `end`. */
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

    /** An answer 200 that acknowledges nothing. */
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
