import { expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import type { DeadLetter } from './handlers.ts'
import type { PlantCreated } from './plant-record.ts'

const QUICK = { firstRetryMs: 5, longestRetryMs: 20 }

/** A handler that waits until it is released. */
function heldHandler() {
  const held = Promise.withResolvers<void>()
  const begun: PlantCreated[] = []
  const ended: bigint[] = []
  return {
    ...{ begun, ended, release: held.resolve },
    async handle(event: PlantCreated): Promise<void> {
      begun.push(event)
      await held.promise
      ended.push(event.id)
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

it('a pause waits for the running handler and calls none until resume', async () => {
  const topic = await openTopic(1)
  const handler = heldHandler()
  const consumer = await consumeInto(topic.topic, { onPlantCreated: handler.handle })
  await topic.append(5)
  await eventually(() => expect(handler.begun).toHaveLength(1))
  const paused = consumer.pause().then(() => expect(handler.ended).toHaveLength(1))
  await topic.append(5)
  handler.release()
  await paused
  // Another reader has them all, and so would this one, were it not paused.
  const other = await consumeInto(topic.topic)
  await eventually(() => expect(other.events).toHaveLength(10))
  expect([handler.begun.length, consumer.problems()]).toEqual([1, []])

  consumer.resume()
  await eventually(() => expect(handler.ended).toEqual(other.events.map(({ id }) => id)))
})

it('stopping, here by a signal, waits for the running handler, commits, and calls no handler afterwards', async () => {
  const topic = await openTopic(1)
  const [groupId, handler, stopping] = [newGroup(), heldHandler(), new AbortController()]
  const options = { groupId, signal: stopping.signal }
  const consumer = await consumeInto(topic.topic, { ...options, onPlantCreated: handler.handle })
  await topic.append(5)
  await eventually(() => expect(handler.begun).toHaveLength(1))
  stopping.abort(new Error('too late'))
  handler.release()
  await consumer.ended
  expect(handler.ended).toEqual([1n])

  await expect(consumeInto(topic.topic, options)).rejects.toThrow('too late')
  const next = await consumeInto(topic.topic, { groupId })
  await eventually(() => expect(next.events.map(({ id }) => id)).toEqual([2n, 3n, 4n, 5n]))
})

it('stopping waits at most stopWithinMs; what a handler did not finish is delivered again', async () => {
  const topic = await openTopic(1)
  const groupId = newGroup()
  const signals: AbortSignal[] = []
  const consumer = await consumeInto(topic.topic, {
    ...{ groupId, stopWithinMs: 0 },
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
