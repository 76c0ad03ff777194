import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection } from './connection.ts'
import { createLatencies } from './latency.ts'
import { createTally, type LoadOrder, type MeasuredLoad } from './measured-load.ts'

// Closed loop of reads, in a process of its own: each client sends its next read when it has a response, of a
// random id among those in the order.

/** `ids` are of plants that are there. */
export type ReadOrder = LoadOrder & { ids: BigInt64Array }

const LAST_ANSWERS_WITHIN_MS = 10_000

process.once('disconnect', () => process.exit())
const [order] = (await once(process, 'message')) as [ReadOrder]
process.send?.(await load(order), () => process.disconnect?.())

async function load({ url, token, connections, warmUpMs, measuredMs, processes, ids }: ReadOrder) {
  const target = new URL(url)
  const head = ` HTTP/1.1\r\nhost: ${target.host}\r\nauthorization: Bearer ${token}\r\n\r\n`
  const tally = createTally(processes)
  const latencies = createLatencies()
  const { promise: allAnswered, resolve: lastAnswered } = Promise.withResolvers<void>()
  let going = true
  let out = 0

  function connect(): void {
    let sentAt = 0
    const { send, close } = createConnection(
      target,
      ({ status }) => {
        if (status !== 200) tally.note(`status ${status}`)
        else if (tally.isMeasuring()) {
          tally.good()
          latencies.record(performance.now() - sentAt)
        }
        answered()
      },
      (why) => {
        tally.note(why)
        answered()
      },
    )
    function read(): void {
      sentAt = performance.now()
      out++
      send(`GET /plants/${ids[Math.floor(Math.random() * ids.length)]}${head}`)
    }
    function answered(): void {
      out--
      if (going) read()
      else {
        close()
        if (out === 0) lastAnswered()
      }
    }
    read()
  }

  for (let each = 0; each < connections; each++) connect()
  await delay(warmUpMs)
  tally.begin()
  await delay(measuredMs)
  const measured = tally.end()
  going = false
  await Promise.race([allAnswered, delay(LAST_ANSWERS_WITHIN_MS)])
  if (out > 0) tally.note(`no response to ${out} requests`)
  const result: MeasuredLoad = { ...measured, ...tally.result(), latency: latencies.result() }
  return result
}
