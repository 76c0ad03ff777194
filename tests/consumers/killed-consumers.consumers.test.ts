import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { expect, inject, it, onTestFinished } from 'vitest'
import { eventually } from '../support/consumed-plants.ts'
import { createKilledConsumer } from '../support/killed-consumer.ts'
import { createMixedClaims } from '../support/mixed-claims.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readTruth, type Truth } from '../support/truth.ts'

const KINDS = ['memory', 'file', 'read model'] as const
const KILLS = 5
const BATCH = 20
const APPEND_EVERY_MS = 10
const MAX_EVENTS = 300
const MAX_MORE_MS = 30

/** Where each creation lies, with its event. */
function creationsOf({ states }: Truth): string[] {
  return states
    .flatMap(({ plants }, partition) =>
      [...plants.values()].map(({ offset, eventId }) => `${partition} ${offset} ${eventId}`),
    )
    .sort()
}

it('consumers that are killed at any point miss no plant, and are given no void claim', async () => {
  const [kafkaBrokers, redisUrl] = [inject('kafkaBrokers'), inject('redisUrl')]
  const store = await createPlantStore({ kafkaBrokers, redisUrl })
  await store.startProjector()
  const appender = createAppender(store.kafka, store.topic)
  onTestFinished(appender.close)
  const claims = createMixedClaims(store.partitions)
  const writing = new AbortController()
  async function write(): Promise<void> {
    while (!writing.signal.aborted) {
      await appender.append(claims.take(BATCH))
      await delay(APPEND_EVERY_MS)
    }
  }
  const written = write()
  onTestFinished(() => writing.abort())
  const folder = temporaryFolder()
  const consumers = KINDS.map((firstClaims) =>
    createKilledConsumer(
      { brokers: kafkaBrokers.split(','), topic: store.topic, redisUrl, firstClaims },
      folder,
    ),
  )
  for (const consumer of consumers) onTestFinished(consumer.close)

  await Promise.all(
    consumers.map(async (consumer) => {
      for (let kills = 0; kills < KILLS; kills++) {
        await consumer.liveAndDie(randomInt(MAX_EVENTS), randomInt(MAX_MORE_MS))
      }
      await consumer.start()
    }),
  )
  writing.abort()
  await written

  const creations = creationsOf(await readTruth(store))
  expect(creations.length).toBeGreaterThan(KILLS * BATCH)
  for (const consumer of consumers) {
    const told = () =>
      new Set(consumer.noted().map(({ partition, offset, eventId }) => `${partition} ${offset} ${eventId}`))
    await eventually(() => expect(told().size).toBeGreaterThanOrEqual(creations.length))
    expect([...told()].sort()).toEqual(creations)
    const noted = consumer.noted()
    for (let life = 1; life <= KILLS + 1; life++) {
      for (let partition = 0; partition < store.partitions; partition++) {
        const offsets = noted
          .filter((event) => event.life === life && event.partition === partition)
          .map(({ offset }) => offset)
        expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b))
      }
    }
  }
})
