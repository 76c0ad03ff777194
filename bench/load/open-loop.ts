import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { NAME, newIds, TAG } from '../plant.ts'
import type { Answer } from './answer.ts'
import { createConnection } from './connection.ts'
import { createDispatch } from './dispatch.ts'
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
  const { url, token, connections, warmUpMs, measuredMs, ratePerSecond, seed, isOverload = false } = order
  const { readModel, processes } = order
  const target = new URL(url)
  const head = `POST /plants HTTP/1.1\r\nhost: ${target.host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: `
  const tally = createTally(processes)
  const [latencies, sentLate] = [createLatencies(), createLatencies()]
  const lag = readModel && (await watchLag(readModel))
  const dispatch = createDispatch(connections)
  const newId = newIds()
  const ids: bigint[] = []
  const clients: ReturnType<typeof createConnection>[] = []
  const isMeasured = (dueMs: number) => dueMs >= warmUpMs && dueMs < warmUpMs + measuredMs
  let refused = 0
  const begin = performance.now()

  function sendOn(connection: number): void {
    const id = newId()
    ids[connection] = id
    const body = `{"id":${id},"name":"${NAME}","tag":"${TAG}"}`
    clients[connection] ??= createConnection(
      target,
      (answer) => answered(connection, answer),
      (why) => broken(connection, why),
    )
    clients[connection].send(`${head}${body.length}\r\n\r\n${body}`)
    const dueMs = dispatch.dueOf(connection)
    if (isMeasured(dueMs)) sentLate.record(performance.now() - begin - dueMs)
  }

  function answered(connection: number, { status, position }: Answer): void {
    const dueMs = dispatch.dueOf(connection)
    if (status === 200) {
      tally.acknowledge(ids[connection] as bigint)
      if (isMeasured(dueMs)) latencies.record(performance.now() - begin - dueMs)
      if (tally.isMeasuring() && position !== undefined) lag?.note(position)
    } else if (isOverload && status === 503) {
      if (tally.isMeasuring()) refused++
    } else tally.note(`status ${status}`)
    if (dispatch.answered(connection)) sendOn(connection)
  }

  function broken(connection: number, why: string): void {
    tally.note(why)
    if (dispatch.answered(connection)) sendOn(connection)
  }

  const due = arrivals(ratePerSecond, seed)
  let next = due.next().value
  async function arriveUntil(endMs: number): Promise<void> {
    while (next < endMs) {
      const now = performance.now() - begin
      for (; next <= now && next < endMs; next = due.next().value) {
        const connection = dispatch.arrive(next)
        if (connection !== undefined) sendOn(connection)
      }
      await delay(TICK_MS)
    }
  }

  async function lastAnswers(): Promise<void> {
    const until = performance.now() + LAST_ANSWERS_WITHIN_MS
    while (dispatch.out() > 0 && performance.now() < until) await delay(AWAIT_EVERY_MS)
    const unanswered = dispatch.out() + dispatch.waiting()
    if (unanswered > 0) tally.note(`no answer for ${unanswered} requests`)
    for (const client of clients) client?.close()
  }

  await arriveUntil(warmUpMs)
  tally.begin()
  await arriveUntil(warmUpMs + measuredMs)
  const measured = tally.end()
  const givenUp = isOverload ? dispatch.dropWaiting() : 0
  await lastAnswers()
  return {
    ...measured,
    ...tally.told(),
    ...{ latency: latencies.told(), sentLate: sentLate.told(), lag: await lag?.end(), refused, givenUp },
  }
}
