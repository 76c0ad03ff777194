import { setTimeout as delay } from 'node:timers/promises'
import { TOKEN } from '../contenders/app-process.ts'
import { LOAD, type MeasuredLoad } from '../load/measured-load.ts'
import { runClosedLoop } from '../load/run-load.ts'
import { cpuBetween, readCpu } from '../measure/cpu.ts'
import { busyBetween, readMachineTicks } from '../measure/machine-load.ts'
import { openPlantStore, type RunningService } from '../plant-store.ts'
import { checkRun } from '../side-by-side/check.ts'
import type { BenchStores } from '../stores.ts'

/** The number of processes of each kind. A quiet api gets no requests: it only reads what the others append. */
export type Deployment = { apis: number; quietApis: number; projectors: number }

export type LoadOptions = { connections: number; warmUpMs: number; measuredMs: number }

export type Run = {
  perSecond: number
  /** µs of CPU per create, of all processes of a kind together. */
  cpuMicros: Record<Kind, number>
  /** The share of all cores in use, by any process. */
  machineBusy: number
}

export const KINDS = ['api', 'quiet api', 'projector', 'broker', 'Redis', 'load'] as const
export type Kind = (typeof KINDS)[number]

/** How long the loads may take to start: CPU is read once all of them measure. */
const LOADS_START_MS = 1_000

/** One run of these services on a store of its own, with clients spread over the apis that are not quiet. */
export async function measureDeployment(
  { apis, quietApis, projectors }: Deployment,
  stores: BenchStores,
  { connections, warmUpMs, measuredMs }: LoadOptions,
): Promise<Run> {
  const store = await openPlantStore(stores)
  const services: RunningService[] = []
  const startAll = async <S extends RunningService>(count: number, start: () => Promise<S>) => {
    const started = await Promise.all(Array.from({ length: count }, start))
    services.push(...started)
    return started
  }
  try {
    const folding = await startAll(projectors, () => store.startProjector())
    const loaded = await startAll(apis, () => store.startApi())
    const quiet = await startAll(quietApis, () => store.startApi())
    const running = new Map<Kind, readonly number[]>([
      ['api', loaded.map(({ pid }) => pid)],
      ['quiet api', quiet.map(({ pid }) => pid)],
      ['projector', folding.map(({ pid }) => pid)],
      ...[...stores.processes].map(([kind, pid]) => [kind, [pid]] as const),
    ])
    const each = { connections: Math.ceil(connections / apis), processes: new Map() }
    const loads = Promise.all(
      loaded.map(({ url }) =>
        runClosedLoop({ url, token: TOKEN, warmUpMs, measuredMs: measuredMs + LOADS_START_MS, ...each }),
      ),
    )
    const [measured, used] = await Promise.all([
      loads,
      delay(warmUpMs + LOADS_START_MS).then(() => usedWithin(running, measuredMs)),
    ])
    await checkRun(store, measured)
    return runOf(measured, used)
  } finally {
    await Promise.all(services.map(({ stop }) => stop()))
    await store.remove()
  }
}

type Used = { cores: Map<string, number>; machineBusy: number }

/** How many cores each kind uses in the next `ms`. */
async function usedWithin(running: ReadonlyMap<Kind, readonly number[]>, ms: number): Promise<Used> {
  const pids = new Map([...running].flatMap(([kind, pids]) => pids.map((pid, n) => [`${kind} ${n}`, pid] as const)))
  const [cpu, ticks, begin] = [readCpu(pids), readMachineTicks(), performance.now()]
  await delay(ms)
  const [ticksAfter, seconds] = [readMachineTicks(), (performance.now() - begin) / 1_000]
  const byPid = cpuBetween(cpu, readCpu(pids))
  const coresOf = (kind: Kind, count: number) =>
    Array.from({ length: count }, (_, n) => byPid.get(`${kind} ${n}`) ?? Number.NaN).reduce(
      (sum, cpuSeconds) => sum + cpuSeconds / seconds,
      0,
    )
  return {
    cores: new Map([...running].map(([kind, { length }]) => [kind, coresOf(kind, length)])),
    machineBusy: ticks && ticksAfter ? busyBetween(ticks, ticksAfter) : Number.NaN,
  }
}

function runOf(loads: readonly MeasuredLoad[], { cores, machineBusy }: Used): Run {
  const sum = (of: (load: MeasuredLoad) => number) => loads.reduce((total, load) => total + of(load), 0)
  const perSecond = sum(({ good, seconds }) => good / seconds)
  const loadCores = sum(({ cpuSeconds, seconds }) => (cpuSeconds.get(LOAD) ?? Number.NaN) / seconds)
  const all = new Map([...cores, ['load', loadCores]])
  const micros = KINDS.map((kind) => [kind, ((all.get(kind) ?? 0) / perSecond) * 1e6] as const)
  return { perSecond, cpuMicros: Object.fromEntries(micros) as Record<Kind, number>, machineBusy }
}
