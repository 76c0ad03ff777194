import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { newGroup } from '../support/consumed-plants.ts'
import { createKilledConsumer, type Noted } from '../support/killed-consumer.ts'
import { createMixedClaims } from '../support/mixed-claims.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readTruth, type Truth } from '../support/truth.ts'

const KINDS = ['memory', 'file'] as const
const KILLS = 5
const BATCH = 10
const APPEND_EVERY_MS = 10
const MAX_EVENTS = 300
const MAX_MORE_MS = 30
const WORK_MS = 2
/** Up to all events, which are more the slower the machine is. */
const CATCH_UP = { timeout: 120_000, interval: 500 }

/** The position and event id of each creation. */
function creationsOf({ states }: Truth): string[] {
  return states
    .flatMap(({ plants }, partition) =>
      [...plants.values()].map(({ offset, eventId }) => `${partition} ${offset} ${eventId}`),
    )
    .sort()
}

const placeOf = ({ partition, offset, eventId }: Noted) => `${partition} ${offset} ${eventId}`

/** A store to whose log claims, some of them repeated or void, are appended until `creations` is called. */
async function openWrittenStore() {
  const store = await createPlantStore()
  const appender = createAppender(store.kafka, store.topic)
  onTestFinished(appender.close)
  const claims = createMixedClaims(store.partitions)
  const writing = new AbortController()
  onTestFinished(() => writing.abort())
  async function write(): Promise<void> {
    while (!writing.signal.aborted) {
      await appender.append(claims.take(BATCH))
      await delay(APPEND_EVERY_MS)
    }
  }
  const written = write()
  return {
    ...store,

    consumer(firstClaims: (typeof KINDS)[number], groupId = newGroup()) {
      const task = { brokers: inject('kafkaBrokers').split(','), topic: store.topic, firstClaims, workMs: WORK_MS }
      const consumer = createKilledConsumer(task, temporaryFolder(), groupId)
      onTestFinished(consumer.close)
      return consumer
    },

    /** Stops the appends. Returns the position and event id of each creation. */
    async creations(): Promise<string[]> {
      writing.abort()
      await written
      return creationsOf(await readTruth(store))
    },
  }
}

/** Checks what processes noted against the truth: all creations, nothing else, and by each process in log order. */
async function expectCreations(noted: () => Noted[], creations: readonly string[]): Promise<void> {
  const places = () => new Set(noted().map(placeOf))
  await vi.waitFor(() => expect(places().size).toBeGreaterThanOrEqual(creations.length), CATCH_UP)
  expect([...places()].sort()).toEqual(creations)
  const lasts = new Map<string, number>()
  for (const { life, partition, offset } of noted()) {
    const place = `${life} ${partition}`
    expect(offset).toBeGreaterThan(lasts.get(place) ?? -1)
    lasts.set(place, offset)
  }
}

describe('a consumer, with each kind of first claims', () => {
  it('misses no plant and is given no void claim, though it is killed at any point', async () => {
    const store = await openWrittenStore()
    const consumers = KINDS.map((kind) => store.consumer(kind))
    await Promise.all(
      consumers.map(async (consumer) => {
        for (let kills = 0; kills < KILLS; kills++) {
          await consumer.liveAndDie(randomInt(MAX_EVENTS), randomInt(MAX_MORE_MS))
        }
        await consumer.start()
      }),
    )
    const creations = await store.creations()
    expect(creations.length).toBeGreaterThan(KILLS * BATCH)
    for (const consumer of consumers) await expectCreations(consumer.noted, creations)
  })

  it('continues as an ordinary member after its session expired while it was frozen', async () => {
    const store = await openWrittenStore()
    const groups = KINDS.map((kind) => {
      const groupId = newGroup()
      return { frozen: store.consumer(kind, groupId), other: store.consumer(kind, groupId) }
    })
    await Promise.all(
      groups.map(async ({ frozen, other }) => {
        await frozen.start()
        await frozen.untilNoted(BATCH)
        frozen.freeze()
        await other.start()
        // It owns all partitions once the session of the frozen one has expired.
        await other.untilNoted(BATCH)
        frozen.goOn()
        await frozen.untilNoted(frozen.noted().length + MAX_EVENTS)
      }),
    )
    const creations = await store.creations()
    for (const { frozen, other } of groups) {
      const noted = () => [...frozen.noted(), ...other.noted().map((event) => ({ ...event, life: 2 }))]
      await expectCreations(noted, creations)
    }
  })
})
