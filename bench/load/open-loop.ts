import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createClients } from './clients.ts'
import { watchLag } from './lag.ts'
import { createLatencies, type Latency } from './latency.ts'
import { createTally, type LoadOrder, type MeasuredLoad } from './measured-load.ts'
import { arrivals } from './schedule.ts'

// Open loop, in a process of its own. Requests are due at times that are fixed beforehand. Their latency counts from
// then, whether the generator, a busy connection or the server delays them. `connections` is the maximum that it opens.

export type OpenLoadOrder = LoadOrder & {
  ratePerSecond: number
  seed: number
  /**
   * The rate is meant to be too high: responses 503 are counted separately, and requests that wait at the end are
   * dropped.
   */
  isOverload?: boolean
  /** The read model whose lag is measured meanwhile. */
  readModel?: ReadModelSettings | undefined
}

export type OpenLoad = MeasuredLoad & {
  /** From due to sent: the part of the latencies that is the generator's own, or a wait for a connection. */
  sentLate: Latency
  lag: Latency | undefined
  /** Responses 503 of an overload within the measured time, and requests dropped at its end. */
  refused: number
  givenUp: number
}

/** The resolution of timers in Node. */
const TICK_MS = 1
const LAST_ANSWERS_WITHIN_MS = 20_000
const AWAIT_EVERY_MS = 5

process.once('disconnect', () => process.exit())
const [order] = (await once(process, 'message')) as [OpenLoadOrder]
process.send?.(await load(order), () => process.disconnect?.())

async function load(order: OpenLoadOrder): Promise<OpenLoad> {
  const { warmUpMs, measuredMs, ratePerSecond, seed, isOverload = false, readModel, processes } = order
  const tally = createTally(processes)
  const [latencies, sentLate] = [createLatencies(), createLatencies()]
  const lag = readModel && (await watchLag(readModel))
  const isMeasured = (dueMs: number) => dueMs >= warmUpMs && dueMs < warmUpMs + measuredMs
  let begin = 0
  let refused = 0
  const clients = createClients(order, {
    onSent(dueMs) {
      if (isMeasured(dueMs)) sentLate.record(performance.now() - begin - dueMs)
    },
    onResponse(dueMs, id, { status, position }) {
      if (status === 200) {
        tally.acknowledge(id)
        if (isMeasured(dueMs)) latencies.record(performance.now() - begin - dueMs)
        if (tally.isMeasuring() && position !== undefined) lag?.note(position)
      } else if (!isOverload || status !== 503) tally.note(`status ${status}`)
      else if (tally.isMeasuring()) refused++
    },
    onBroken: tally.note,
  })
  // An overload comes from clients that are connected already.
  if (isOverload) await clients.openAll()

  begin = performance.now()
  const arriveUntil = arriving(arrivals(ratePerSecond, seed), begin, clients.arrive)
  await arriveUntil(warmUpMs)
  tally.begin()
  await arriveUntil(warmUpMs + measuredMs)
  const measured = tally.end()
  const givenUp = isOverload ? clients.dropWaiting() : 0
  const unanswered = await lastAnswers(clients)
  if (unanswered > 0) tally.note(`no response to ${unanswered} requests`)
  const times = { latency: latencies.result(), sentLate: sentLate.result(), lag: await lag?.end() }
  return { ...measured, ...tally.result(), ...times, refused, givenUp }
}

/** Dispatches requests when they are due, in ms after `begin`, up to those that are due before `endMs`. */
function arriving(due: Generator<number, never>, begin: number, arrive: (dueMs: number) => void) {
  let next = due.next().value
  return async function arriveUntil(endMs: number): Promise<void> {
    while (next < endMs) {
      const now = performance.now() - begin
      for (; next <= now && next < endMs; next = due.next().value) arrive(next)
      await delay(TICK_MS)
    }
  }
}

/** Waits for the requests in flight. Returns how many got no response in time. */
async function lastAnswers(clients: ReturnType<typeof createClients>): Promise<number> {
  const until = performance.now() + LAST_ANSWERS_WITHIN_MS
  while (clients.out() > 0 && performance.now() < until) await delay(AWAIT_EVERY_MS)
  const unanswered = clients.out() + clients.waiting()
  clients.close()
  return unanswered
}
