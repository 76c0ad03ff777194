import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createClients } from './clients.ts'
import { watchLag } from './lag.ts'
import { createLatencies, type Latency } from './latency.ts'
import { createTally, type LoadOrder, type MeasuredLoad } from './measured-load.ts'
import { arrivals } from './schedule.ts'

// Open loop, in a process of its own: requests are due at times that were fixed beforehand, and their latency counts from then,
// whether the generator, a busy connection or the server keeps them waiting. `connections` is the most that it opens.

export type OpenLoadOrder = LoadOrder & {
  ratePerSecond: number
  seed: number
  /** What is known to be too much: answers 503 are counted by themselves, and what still waits in the end is given up. */
  isOverload?: boolean
  /** The read model whose lag is watched meanwhile. */
  readModel?: ReadModelSettings | undefined
}

export type OpenLoad = MeasuredLoad & {
  /** How much later than due requests went out: what of the latencies is the generator's own, and waits for a connection. */
  sentLate: Latency
  lag: Latency | undefined
  /** Answers 503 of an overload within the measured time, and requests given up in its end. */
  refused: number
  givenUp: number
}

/** A timer of Node is no finer. */
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
  // Who comes three times as often has its connections already.
  if (isOverload) await clients.openAll()

  begin = performance.now()
  const arriveUntil = arriving(arrivals(ratePerSecond, seed), begin, clients.arrive)
  await arriveUntil(warmUpMs)
  tally.begin()
  await arriveUntil(warmUpMs + measuredMs)
  const measured = tally.end()
  const givenUp = isOverload ? clients.dropWaiting() : 0
  const unanswered = await lastAnswers(clients)
  if (unanswered > 0) tally.note(`no answer for ${unanswered} requests`)
  const times = { latency: latencies.result(), sentLate: sentLate.result(), lag: await lag?.end() }
  return { ...measured, ...tally.result(), ...times, refused, givenUp }
}

/** Has requests arrive when they are due, in ms after `begin`; resolves when none is left that is due before `endMs`. */
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

/** Waits for what is on the way; tells how many were not answered in time. */
async function lastAnswers(clients: ReturnType<typeof createClients>): Promise<number> {
  const until = performance.now() + LAST_ANSWERS_WITHIN_MS
  while (clients.out() > 0 && performance.now() < until) await delay(AWAIT_EVERY_MS)
  const unanswered = clients.out() + clients.waiting()
  clients.close()
  return unanswered
}
