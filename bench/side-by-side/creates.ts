import type { Contender, RunningContender } from '../contender.ts'
import type { Latency } from '../load/latency.ts'
import { type LoadOrder, microsOf } from '../load/measured-load.ts'
import { runClosedLoop } from '../load/run-load.ts'
import type { BenchStores } from '../stores.ts'
import { checkRun } from './check.ts'

/** What is measured of each row of creates. */
export type CreatesOptions = {
  /** Clients at a time. */
  connections: number
  warmUpMs: number
  measuredMs: number
  /** For one client at a time, after the others. */
  oneClientMs: number
}

export type CreatesRun = {
  perSecond: number
  /** µs of CPU per create, by process, without the load. */
  cpuMicros: Record<string, number>
  /** The same of the load generator, which shares the machine. */
  loadMicros: number
  oneClient: Latency
}

const ONE_CLIENT_WARM_UP_MS = 300

/**
 * Measures one run of one row: its highest rate with many clients, then its latency with one. First, `check` verifies
 * what the row claims. Throws when a response is wrong.
 */
export async function measureCreates(
  contender: Contender,
  stores: BenchStores,
  { connections, warmUpMs, measuredMs, oneClientMs }: CreatesOptions,
  check: (running: RunningContender) => Promise<void> = async () => {},
): Promise<CreatesRun> {
  const running = await contender.start(stores)
  try {
    await check(running)
    const { url, token, processes } = running
    const order: LoadOrder = { url, token, connections, warmUpMs, measuredMs, processes }
    const many = await runClosedLoop(order)
    const alone = { connections: 1, warmUpMs: ONE_CLIENT_WARM_UP_MS, measuredMs: oneClientMs }
    const one = await runClosedLoop({ ...order, ...alone })
    await checkRun(running, [many, one])
    return {
      perSecond: many.good / many.seconds,
      ...microsOf(many),
      oneClient: one.latency,
    }
  } finally {
    await running.stop()
  }
}
