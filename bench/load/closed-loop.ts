import { type EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import autocannon from 'autocannon'
import { bodyOf, NAME, newIds, TAG } from '../plant.ts'
import { createLatencies } from './latency.ts'
import { createTally, type LoadOrder, type MeasuredLoad } from './measured-load.ts'

// Closed loop, in a process of its own: each client sends its next request when it has a response. This finds the
// highest rate. The latencies are those of a server that never gets more requests than it can handle.

const TIMEOUT_SECONDS = 20
const STOP_WITHIN_MS = 50
const BODY = JSON.stringify({ name: NAME, tag: TAG })

process.once('disconnect', () => process.exit())
const [order] = (await once(process, 'message')) as [LoadOrder]
process.send?.(await load(order), () => process.disconnect?.())

async function load({ url, token, connections, warmUpMs, measuredMs, processes }: LoadOrder) {
  const tally = createTally(processes)
  const latencies = createLatencies()
  const newId = newIds()

  function setUp(client: autocannon.Client): void {
    let id = newId()
    client.setBody(bodyOf(id))
    client.on('response', (status, _bytes, ms) => {
      if (status === 200) tally.acknowledge(id)
      else tally.note(`status ${status}`)
      if (tally.isMeasuring()) latencies.record(ms)
      id = newId()
      client.setBody(bodyOf(id))
    })
  }

  const options: autocannon.Options = {
    ...{ url: `${url}/plants`, method: 'POST', connections, timeout: TIMEOUT_SECONDS, setupClient: setUp },
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    expectBody: BODY,
    // `stop` ends the run; autocannon checks for it when it takes a sample.
    ...{ duration: warmUpMs + measuredMs, sampleInt: STOP_WITHIN_MS },
  }
  // The types of autocannon lack some of its events.
  const instance: EventEmitter & { stop(): void } = autocannon(options, () => {})
  instance.on('reqMismatch', () => tally.note('a response with another plant'))
  instance.on('reqError', ({ message }: Error) => tally.note(message))
  await delay(warmUpMs)
  tally.begin()
  await delay(measuredMs)
  const measured = tally.end()
  const ended = once(instance, 'done')
  instance.stop()
  await ended
  const result: MeasuredLoad = { ...measured, ...tally.result(), latency: latencies.result() }
  return result
}
