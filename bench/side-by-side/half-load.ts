import type { Contender } from '../contender.ts'
import type { Latency } from '../load/latency.ts'
import { LOAD, type LoadOrder, type MeasuredLoad } from '../load/measured-load.ts'
import { runClosedLoop, runOpenLoop } from '../load/run-load.ts'
import type { BenchStores } from '../stores.ts'
import { checkRun } from './check.ts'

export type HalfLoadOptions = {
  connections: number
  warmUpMs: number
  measuredMs: number
  seed: number
  /** Whether three times the peak is offered, too. */
  overload: boolean
}

export type HalfLoadRun = {
  /** Closed loop, in the same start, just before. */
  peakPerSecond: number
  ratePerSecond: number
  latency: Latency
  /** How late the generator sent what was due: so much of the latency may be its own. */
  sentLate: Latency
  lag: Latency | undefined
  overload: Overload | undefined
}

export type Overload = {
  /** The highest rate that was seen in this start, with as many clients as the rows of creates have. */
  peakPerSecond: number
  offeredPerSecond: number
  goodPerSecond: number
  refusedPerSecond: number
  /** Requests that still waited for a connection of the generator in the end. */
  givenUp: number
  /** Cores that the generator took. */
  loadCores: number
}

/** Enough that none of them waits for a free one, as long as the server keeps up. */
const OPEN_CONNECTIONS = 1_024
/** So many requests a contender has to deal with at once; what is due beyond them waits in the generator. */
const OVERLOAD_CONNECTIONS = 4_000
const OVERLOAD_TIMES = { warmUpMs: 1_000, measuredMs: 4_000 }
const OVERLOAD = 3

/** Latency as clients see it that do not wait for each other, at half of the rate that it can do; then, if asked for, too much. */
export async function measureHalfLoad(
  contender: Contender,
  stores: BenchStores,
  { connections, warmUpMs, measuredMs, seed, overload }: HalfLoadOptions,
): Promise<HalfLoadRun> {
  const running = await contender.start(stores)
  try {
    const { url, token, processes, readModel } = running
    const order: LoadOrder = { url, token, connections, warmUpMs, measuredMs, processes }
    const peak = await runClosedLoop(order)
    const peakPerSecond = peak.good / peak.seconds
    const ratePerSecond = peakPerSecond / 2
    const half = await runOpenLoop({
      ...order,
      ratePerSecond,
      seed,
      readModel,
      connections: OPEN_CONNECTIONS,
    })
    const over = overload ? await measureOverload({ ...order, seed, peakPerSecond }) : undefined
    await checkRun(running, [peak, half, ...(over?.loads ?? [])])
    return {
      ...{ peakPerSecond, ratePerSecond, latency: half.latency, sentLate: half.sentLate, lag: half.lag },
      overload: over?.overload,
    }
  } finally {
    await running.stop()
  }
}

type OverloadOrder = LoadOrder & { seed: number; peakPerSecond: number }

/**
 * The same offer twice: to few connections, which makes the generator wait, and to so many that the contender has too much. What
 * is different is the overload alone, not the generator, nor how warm the contender is.
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
