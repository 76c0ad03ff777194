import { checkRun } from '../contenders/check.ts'
import { BARE, CONTENDERS, OWN, POSTGRES } from '../contenders/contenders.ts'
import { type Load, type LoadOrder, RATE, runLoad } from '../load/load.ts'
import { CPU, LOAD } from '../measure/cpu.ts'
import type { Figures, Measured } from '../measure/spread.ts'
import { ratioOfRows, tableOf, target, valuesOf } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { BenchStores } from '../stores.ts'

/** The rates of creates, the same for all contenders: hardly any, and what a machine with two cores can bear. */
const QUIET_PER_SECOND = 300
/** The target of each higher rate. */
const P99_MAX_MS = { 1000: 7, 2000: 9, 4000: 12 }
const RATES_PER_SECOND = [QUIET_PER_SECOND, ...Object.keys(P99_MAX_MS).map(Number)]
/** Any number, the same for all contenders. Each round has other arrivals. */
const SEED = 20_260_731
/** `no-store` shows the share of the machine, HTTP and the load. */
const OPEN_LOADED = CONTENDERS.filter(({ name }) => name === OWN || name === POSTGRES || name === BARE)
/** Enough that no request waits for a connection as long as the server keeps up. */
const OPEN_LOOP = { connections: 1_024, warmUpMs: 1_000 }
/** At most so many requests are in flight at the contender; all others wait in the generator. */
const OVERLOAD = { connections: 4_000, warmUpMs: 1_000, measuredMs: 4_000, isOverload: true }
const TIMES_THE_PEAK = 3

const GOODPUT = 'of the peak'
const OVERLOAD_FIGURES = ['peak/s', 'offered/s', RATE, GOODPUT, 'refused/s', 'not sent', LOAD]
/** In the order of the report; times in ms. */
export const OPEN_LOOP_FIGURES = ['p50', 'p90', 'p99', 'p99.9', 'max', 'sent late p99', 'lag p50', 'lag p99', CPU]

const rowOf = (name: string, rate: number) => `${name}, ${rate.toLocaleString('en')}/s`
const OVERLOADED = `${OWN}, three times the peak`

/** Warms up in a closed loop, whose rate is the peak. Then measures what independent clients see at each of the rates. */
export async function openLoops(name: string, order: LoadOrder, rates: readonly number[], round: number) {
  const closed = await runLoad({ ...order, lagOf: undefined })
  const loads = [closed]
  const rows: Record<string, Figures> = {}
  for (const perSecond of rates) {
    const measured = await runLoad({ ...order, ...OPEN_LOOP, arrivals: { perSecond, seed: SEED + round } })
    loads.push(measured)
    rows[rowOf(name, perSecond)] = measured.figures
  }
  return { peak: closed.figures[RATE] ?? Number.NaN, loads, rows }
}

/** All rates; then an overload of this service. */
export function runOpenLoad(rounds: number, load: Load, stores: BenchStores): Promise<Measured> {
  return inRounds(OPEN_LOADED, rounds, async ({ name, start }, round) => {
    await using running = await start(stores)
    const order: LoadOrder = { ...load, urls: running.urls, processes: running.processes }
    const open = await openLoops(name, { ...order, lagOf: running.readModel }, RATES_PER_SECOND, round)
    const over = name === OWN ? await runOverload(order, round, open.peak) : { loads: [], rows: {} }
    await checkRun(running, [...open.loads, ...over.loads])
    return { ...open.rows, ...over.rows }
  })
}

/**
 * Offers the same load twice: on few connections, so that requests wait in the generator, and on enough connections to
 * overload the contender. Only the overload differs: the generator is the same, and the contender is equally warm.
 */
async function runOverload({ connections, ...order }: LoadOrder, round: number, closedLoopPeak: number) {
  const arrivals = { perSecond: TIMES_THE_PEAK * closedLoopPeak, seed: SEED + round }
  const inGenerator = await runLoad({ ...order, ...OVERLOAD, arrivals, connections })
  const over = await runLoad({ ...order, ...OVERLOAD, arrivals })
  const peak = Math.max(closedLoopPeak, inGenerator.figures[RATE] ?? Number.NaN)
  const goodput = (over.figures[RATE] ?? Number.NaN) / peak
  const figures: Figures = { 'peak/s': peak, 'offered/s': arrivals.perSecond, ...over.figures, [GOODPUT]: goodput }
  return { loads: [inGenerator, over], rows: { [OVERLOADED]: figures } }
}

export function openLoadTables(measured: Measured) {
  const { [OVERLOADED]: overload, ...open } = measured
  return [
    tableOf('creates, open loop', open, OPEN_LOOP_FIGURES, { spread: ['p99'] }),
    tableOf('creates', overload ? { [OVERLOADED]: overload } : {}, OVERLOAD_FIGURES),
  ]
}

export function openLoadTargets(measured: Measured) {
  const at = (rate: number, figure: string) => valuesOf(measured[rowOf(OWN, rate)], figure)
  const latencies = Object.entries(P99_MAX_MS).flatMap(([perSecond, atMost]) => {
    const rate = Number(perSecond)
    const against = ratioOfRows(measured, 'p99', rowOf(OWN, rate), rowOf(POSTGRES, rate))
    const what = `p99 at ${rate.toLocaleString('en')} creates/s, open loop`
    return [
      ...target(4, what, at(rate, 'p99'), { atMost }, 'ms'),
      ...target(4, `${what}, against ${POSTGRES}`, against, { atMost: 1 }, '×'),
    ]
  })
  const goodput = valuesOf(measured[OVERLOADED], GOODPUT)
  return [
    ...latencies,
    ...target(6, 'projection lag at 4,000 creates/s, p99', at(4_000, 'lag p99'), { atMost: 15 }, 'ms'),
    ...target(10, 'goodput at 3× overload against the peak', goodput, { atLeast: 0.9 }, '×'),
    ...target(13, 'CPU per create at 300 creates/s', at(QUIET_PER_SECOND, CPU), { atMost: 1_000 }, 'µs'),
  ]
}
