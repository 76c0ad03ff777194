import { describe, expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { delay, systemTime } from '../runtime/time.ts'
import type { DeadLetter } from './handlers.ts'
import type { PlantCreated } from './plant-record.ts'

const SLOW_MS = 20
const MANY = 500
const QUICK = { firstRetryMs: 5, longestRetryMs: 20 }

/** A handler that waits until it is released. */
function heldHandler() {
  const held = Promise.withResolvers<void>()
  const begun: PlantCreated[] = []
  const ended: PlantCreated[] = []
  return {
    ...{ begun, ended, release: held.resolve },
    async handle(event: PlantCreated): Promise<void> {
      begun.push(event)
      await held.promise
      ended.push(event)
    },
  }
}

it('a handler that fails gets the same batch again, which goes to onDeadLetter after maxAttempts failures, and no other one with it', async () => {
  const topic = await openTopic(1)
  await topic.append(25)
  const calls: bigint[][] = []
  const letters: DeadLetter[] = []
  let refusals = 2
  const consumer = await consumeInto(topic.topic, {
    ...QUICK,
    maxBatch: 10,
    maxAttempts: 3,
    onPlantsCreated(events) {
      calls.push(events.map(({ id }) => id))
      if (!events.some(({ id }) => id === 15n)) return
      // The events that it takes off its list fail with the rest.
      events.splice(0, 2)
      throw new Error('never')
    },
    onDeadLetter(letter) {
      if (refusals-- > 0) throw new Error('full')
      letters.push(letter)
    },
  })
  await eventually(() => expect(consumer.lag()).toBe(0))
  const ids = (first: bigint, count: number) => Array.from({ length: count }, (_, n) => first + BigInt(n))
  const failing = ids(11n, 10)
  expect(calls).toEqual([ids(1n, 10), ...Array(5).fill(failing), ids(21n, 5)])
  expect(letters).toMatchObject([{ events: failing.map((id) => ({ id })), attempts: 5, error: { message: 'never' } }])
})

it('a handler that is slow delays other partitions for a limited time', async () => {
  const topic = await openTopic(2)
  const events: PlantCreated[] = []
  const consumer = await consumeInto(topic.topic, {
    async onPlantCreated(event) {
      if (event.partition === 0) await delay(systemTime, SLOW_MS)
      events.push(event)
    },
  })
  const countOf = (partition: number) => events.filter((event) => event.partition === partition).length
  const slow = (await topic.append(2 * MANY)).filter(({ partition }) => partition === 0).length
  const fast = 2 * MANY - slow
  await eventually(() => expect(countOf(1)).toBe(fast))
  while ((await topic.append(1))[0]?.partition === 0);
  await eventually(() => expect(countOf(1)).toBeGreaterThan(fast))
  expect(countOf(0)).toBeLessThan(slow)
  await consumer.stop()
})

it('a pause waits for the running handler and calls none until resume', async () => {
  const topic = await openTopic(1)
  const handler = heldHandler()
  const consumer = await consumeInto(topic.topic, { onPlantCreated: handler.handle })
  await topic.append(5)
  await eventually(() => expect(handler.begun).toHaveLength(1))
  let isPaused = false
  const paused = consumer.pause().then(() => {
    isPaused = true
  })
  await topic.append(5)
  expect(isPaused).toBe(false)
  handler.release()
  await paused
  expect([handler.begun.length, handler.ended.length]).toEqual([1, 1])
  // Another reader has them all, and so would this one, were it not paused.
  const other = await consumeInto(topic.topic)
  await eventually(() => expect(other.events).toHaveLength(10))
  expect(handler.begun).toHaveLength(1)
  expect(consumer.problems()).toEqual([])

  consumer.resume()
  await eventually(() => expect(handler.ended).toHaveLength(10))
  expect(handler.ended.map(({ id }) => id)).toEqual(other.events.map(({ id }) => id))
})

describe('stopping', () => {
  it('waits for the running handler, commits, and calls no handler afterwards', async () => {
    const topic = await openTopic(1)
    const [groupId, handler] = [newGroup(), heldHandler()]
    const consumer = await consumeInto(topic.topic, { groupId, onPlantCreated: handler.handle })
    await topic.append(5)
    await eventually(() => expect(handler.begun).toHaveLength(1))
    const stopped = consumer.stop()
    handler.release()
    await stopped
    await consumer.ended
    expect(handler.ended.map(({ id }) => id)).toEqual([1n])

    const next = await consumeInto(topic.topic, { groupId })
    await eventually(() => expect(next.events.map(({ id }) => id)).toEqual([2n, 3n, 4n, 5n]))
  })

  it('waits at most stopWithinMs; what a handler did not finish is delivered again', async () => {
    const topic = await openTopic(1)
    const groupId = newGroup()
    const signals: AbortSignal[] = []
    const consumer = await consumeInto(topic.topic, {
      groupId,
      stopWithinMs: 0,
      onPlantCreated: (_event, { signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    await topic.append(2)
    await eventually(() => expect(signals).toHaveLength(1))
    expect(signals[0]?.aborted).toBe(false)
    await consumer.stop()
    expect(signals[0]?.aborted).toBe(true)

    const next = await consumeInto(topic.topic, { groupId })
    await eventually(() => expect(next.events.map(({ id }) => id)).toEqual([1n, 2n]))
  })

  it('can be requested by a signal', async () => {
    const topic = await openTopic(1)
    const stopping = new AbortController()
    const consumer = await consumeInto(topic.topic, { signal: stopping.signal })
    stopping.abort()
    await consumer.ended
    await expect(consumeInto(topic.topic, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow(
      'too late',
    )
  })
})
