import { createHistogram } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuBetween, cpuFigures, LOAD, machineBetween, readCpu, readMachineTicks } from '../measure/cpu.ts'
import { replyToOrder } from '../own-process.ts'
import { isExpected } from '../plant.ts'
import { type Clients, createClients } from './clients.ts'
import { watchLag } from './lag.ts'
import { type LoadOrder, type MeasuredLoad, RATE } from './load.ts'
import { arrivals } from './schedule.ts'

// The load generator, a module that runs in a separate process.
//
// Closed loop: each connection sends its next request when it has a response. This finds the highest rate. The server
// never gets more requests than it can handle, so the latencies say little.
//
// Open loop: requests are due at times that are fixed beforehand. Their latency counts from then, whether the generator,
// a busy connection or the server delays them.

/** The resolution of timers in Node. */
const TICK_MS = 1
const LAST_RESPONSES_WITHIN_MS = 20_000
const MAX_LATENCY_US = 120_000_000
const PERCENTILES = [50, 90, 99, 99.9]

await replyToOrder<LoadOrder, MeasuredLoad>(async (order) => {
  const { urls, connections, readIds, warmUpMs, measuredMs, arrivals: open, isOverload = false, lagOf } = order
  const processes = { ...order.processes, [LOAD]: [process.pid] }
  const [latency, sentLate, lags] = [createLatencies(), createLatencies(), createLatencies()]
  const lag = lagOf && (await watchLag(lagOf, lags.record))
  const acknowledged: bigint[] = []
  const unexpected = new Map<string, number>()
  const note = (what: string) => unexpected.set(what, (unexpected.get(what) ?? 0) + 1)
  let [isSending, isMeasuring] = [true, false]
  let [good, refused, begin] = [0, 0, 0]
  const now = () => performance.now() - begin
  const isDueInTime = (dueMs: number) => dueMs >= warmUpMs && dueMs < warmUpMs + measuredMs

  function fleetOf(url: string): Clients {
    const fleet: Clients = createClients(url, Math.ceil(connections / urls.length), readIds, {
      onSent(dueMs) {
        if (isDueInTime(dueMs)) sentLate.record(now() - dueMs)
      },
      onResponse(dueMs, id, { status, position, body }) {
        if (status === 200) {
          if (!isExpected(body)) note('a response with another plant')
          if (readIds === undefined) acknowledged.push(id)
          if (isDueInTime(dueMs)) latency.record(now() - dueMs)
          if (isMeasuring) good++
          if (isMeasuring && position !== undefined) lag?.note(position)
        } else if (!isOverload || status !== 503) note(`status ${status}`)
        else if (isMeasuring) refused++
      },
      onBroken: note,
      onFree() {
        if (open === undefined && isSending) fleet.arrive(now())
      },
    })
    return fleet
  }
  const fleets = urls.map(fleetOf)
  const sum = (of: (fleet: Clients) => number) => fleets.reduce((total, fleet) => total + of(fleet), 0)
  const reading = () => ({ cpu: readCpu(processes), ticks: readMachineTicks(), at: performance.now() })

  // An overload comes from clients that are connected already.
  if (isOverload) for (const fleet of fleets) await fleet.openAll()
  begin = performance.now()
  if (open === undefined) for (let each = 0; each < connections; each++) fleets[each % fleets.length]?.arrive(0)
  const due = open && arrivals(open.perSecond, open.seed)
  const loadUntil = due ? arriving(due, now, fleets) : (endMs: number) => delay(endMs - now())
  await loadUntil(warmUpMs)
  const before = reading()
  isMeasuring = true
  await loadUntil(warmUpMs + measuredMs)
  isMeasuring = false
  const after = reading()
  isSending = false
  const notSent = isOverload ? sum((fleet) => fleet.dropWaiting()) : 0
  const until = performance.now() + LAST_RESPONSES_WITHIN_MS
  while (sum((fleet) => fleet.out()) > 0 && performance.now() < until) await delay(TICK_MS)
  const unanswered = sum((fleet) => fleet.out() + fleet.waiting())
  if (unanswered > 0) note(`no response to ${unanswered} requests`)
  for (const fleet of fleets) fleet.close()
  await lag?.end()
  const seconds = (after.at - before.at) / 1_000
  const figures = {
    ...{ [RATE]: good / seconds, ...cpuFigures(cpuBetween(before.cpu, after.cpu), good) },
    ...Object.fromEntries(PERCENTILES.map((percentile) => [`p${percentile}`, latency.at(percentile)])),
    max: latency.at(100),
    ...{ 'sent late p99': sentLate.at(99), '% of the cores': machineBetween(before.ticks, after.ticks).busy },
    ...(lag && { 'lag p50': lags.at(50), 'lag p99': lags.at(99) }),
    ...(isOverload && { 'refused/s': refused / seconds, 'not sent': notSent }),
  }
  return { figures, acknowledged: BigUint64Array.from(acknowledged), unexpected }
})

/** Dispatches requests when they are due, in ms after the begin, to the apis in turn. */
function arriving(due: Generator<number, never>, now: () => number, fleets: readonly Clients[]) {
  let next = due.next().value
  let count = 0
  return async function arriveUntil(endMs: number): Promise<void> {
    while (next < endMs) {
      const until = now()
      for (; next <= until && next < endMs; next = due.next().value) fleets[count++ % fleets.length]?.arrive(next)
      await delay(TICK_MS)
    }
  }
}

/** Records latencies in ms, with a resolution of 1 µs and three significant digits, for their percentiles. */
function createLatencies() {
  const histogram = createHistogram({ lowest: 1, highest: MAX_LATENCY_US, figures: 3 })
  return {
    record: (ms: number) => histogram.record(Math.min(MAX_LATENCY_US, Math.max(1, Math.round(ms * 1_000)))),
    at: (percentile: number) => histogram.percentile(percentile) / 1_000,
  }
}
