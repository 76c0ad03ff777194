import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { expect, inject, it, vi } from 'vitest'
import { newPlant } from '../support/generated-plants.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { WITH_TABLE } from '../support/plants-table.ts'
import { appendTo, createTableTopic, tableTopicOf } from '../support/topic.ts'
import { startPostgres } from './postgres.ts'
import { plantsOfLog, startExample } from './run-example.ts'

const IDS = 20_000
const WAIT = { timeout: 120_000, interval: 50 }

type Columns = { id: string; name: string; tag: string | null }

it('Kafka Connect writes the table into PostgreSQL, though it is killed, and stops at a text that PostgreSQL cannot have', async () => {
  const { port, client } = await startPostgres()
  const store = await createPlantStore()
  await createTableTopic(store)
  await store.startProjector(WITH_TABLE)
  const create = (id: number, name: string, tag?: string) => {
    const plant = { ...newPlant(BigInt(id)), name, ...(tag !== undefined && { tag }) }
    return plantCreated(plant, randomUUID() as EventId, store.partitions)
  }
  const claims = ['first', 'second'].flatMap((round) =>
    Array.from({ length: IDS }, (_, n) => create(n, `${round} "🌱" ${n}`, n % 2 === 0 ? 'ä\\' : undefined)),
  )
  await appendTo(store, claims)

  const startSink = () =>
    startExample('connect-jdbc', [], {
      ...{ KAFKA_BROKERS: inject('kafkaBrokers'), PLANTS_TABLE: tableTopicOf(store) },
      ...{ JDBC_URL: `jdbc:postgresql://127.0.0.1:${port}/postgres`, JDBC_USER: 'postgres', JDBC_PASSWORD: '-' },
    })
  const written = async () => {
    const { rows } = await client.query<{ n: number }>('SELECT count(*)::int AS n FROM plants')
    return rows[0]?.n
  }
  const killed = await startSink()
  await vi.waitFor(async () => expect(await written()).toBeGreaterThan(0), WAIT)
  await killed.kill()
  const sink = await startSink()
  await vi.waitFor(async () => expect(await written()).toBe(IDS), WAIT)

  const { rows } = await client.query<Columns>('SELECT id::text, name, tag FROM plants')
  const found = rows.map(({ id, name, tag }) => [id, { id, name, ...(tag !== null && { tag }) }] as const)
  expect(new Map(found)).toEqual(await plantsOfLog(store))

  await appendTo(store, [create(IDS, 'a\0z')])
  await vi.waitFor(() => expect(sink.output()).toMatch(/invalid byte sequence for encoding "UTF8": 0x00/), WAIT)
})
