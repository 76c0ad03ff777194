import type { Contender } from '../contender.ts'
import type { Latency } from '../load/latency.ts'
import { LOAD, type LoadOrder, type MeasuredLoad, microsOf } from '../load/measured-load.ts'
import { runClosedLoop, runOpenLoop } from '../load/run-load.ts'
import type { BenchStores } from '../stores.ts'
import { checkRun } from './check.ts'

export type OpenLoadOptions = {
  connections: number
  warmUpMs: number
  measuredMs: number
  seed: number
  /** Whether to offer three times the peak, too. */
  overload: boolean
}

export type OpenLoadRun = {
  /** In the order of `RATES_PER_SECOND`. */
  atRates: AtRate[]
  overload: Overload | undefined
}

export type AtRate = {
  ratePerSecond: number
  latency: Latency
  /** From due to sent: this part of the latency may be the generator's own. */
  sentLate: Latency
  lag: Latency | undefined
  /** µs of CPU per create, by process, without the load. */
  cpuMicros: Record<string, number>
}

export type Overload = {
  /** The highest rate measured in this start, with as many clients as in the rows of creates. */
  peakPerSecond: number
  offeredPerSecond: number
  goodPerSecond: number
  refusedPerSecond: number
  /** Requests that still waited for a connection at the end. */
  givenUp: number
  /** How many cores the generator used. */
  loadCores: number
}

/** The rates of creates, the same for all contenders: hardly any, and what a machine with two cores can bear. */
export const RATES_PER_SECOND = [300, 1_000, 2_000, 4_000] as const
/** Enough that no request waits for a connection as long as the server keeps up. */
const OPEN_CONNECTIONS = 1_024
const RATE_WARM_UP_MS = 1_000
/** The maximum of requests in flight at the contender; all others wait in the generator. */
const OVERLOAD_CONNECTIONS = 4_000
const OVERLOAD_TIMES = { warmUpMs: 1_000, measuredMs: 4_000 }
const OVERLOAD = 3

/** Measures what independent clients see at each of the rates; then, on request, an overload. */
export async function measureOpenLoad(
  contender: Contender,
  stores: BenchStores,
  { connections, warmUpMs, measuredMs, seed, overload }: OpenLoadOptions,
): Promise<OpenLoadRun> {
  const running = await contender.start(stores)
  try {
    const { url, token, processes, readModel } = running
    const order: LoadOrder = { url, token, connections, warmUpMs, measuredMs, processes }
    const peak = await runClosedLoop(order)
    const loads: MeasuredLoad[] = [peak]
    const atRates: AtRate[] = []
    for (const ratePerSecond of RATES_PER_SECOND) {
      const own = { ratePerSecond, seed, readModel, connections: OPEN_CONNECTIONS, warmUpMs: RATE_WARM_UP_MS }
      const load = await runOpenLoop({ ...order, ...own })
      loads.push(load)
      const { latency, sentLate, lag } = load
      atRates.push({ ratePerSecond, latency, sentLate, lag, cpuMicros: microsOf(load).cpuMicros })
    }
    const over = overload
      ? await measureOverload({ ...order, seed, peakPerSecond: peak.good / peak.seconds })
      : undefined
    await checkRun(running, [...loads, ...(over?.loads ?? [])])
    return { atRates, overload: over?.overload }
  } finally {
    await running.stop()
  }
}

type OverloadOrder = LoadOrder & { seed: number; peakPerSecond: number }

/**
 * Offers the same load twice: on few connections, so that requests wait in the generator, and on enough connections to
 * overload the contender. Only the overload differs: the generator is the same, and the contender is equally warm.
 */
async function measureOverload(order: OverloadOrder): Promise<{ loads: MeasuredLoad[]; overload: Overload }> {
  const offeredPerSecond = order.peakPerSecond * OVERLOAD
  const offer = { ...order, ...OVERLOAD_TIMES, ratePerSecond: offeredPerSecond, isOverload: true }
  const peak = await runOpenLoop(offer)
  const over = await runOpenLoop({ ...offer, connections: OVERLOAD_CONNECTIONS })
  const overload = {
    offeredPerSecond,
    peakPerSecond: Math.max(order.peakPerSecond, peak.good / peak.seconds),
    goodPerSecond: over.good / over.seconds,
    refusedPerSecond: over.refused / over.seconds,
    givenUp: over.givenUp,
    loadCores: (over.cpuSeconds.get(LOAD) ?? Number.NaN) / over.seconds,
  }
  return { loads: [peak, over], overload }
}
