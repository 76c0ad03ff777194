import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect } from 'vitest'
import { newEvent } from './new-events.ts'
import { openRedis, type PlantStore } from './plant-store.ts'
import { type Ended, startPlantctl } from './plantctl.ts'
import { readStoredPartition } from './stored-partition.ts'

/** Runs a plantctl command on the store. */
export const run = (store: PlantStore, ...args: string[]): Promise<Ended> =>
  startPlantctl(args, store.environment).ended

/** Runs a plantctl command that has to succeed. */
export async function expectRun(store: PlantStore, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run(store, ...args)
  expect({ args, code, output: code === 0 ? '' : stdout + stderr }).toEqual({ args, code: 0, output: '' })
}

/** Appends the events of `plants` plants; every tenth id is claimed twice. */
export async function fill(store: PlantStore, plants: number): Promise<void> {
  const appender = createAppender(store.kafka, store.topic)
  for (let at = 0; at < plants; at += 1_000) {
    const ids = Array.from({ length: Math.min(1_000, plants - at) }, (_, n) => BigInt(-1_000_000 - at - n))
    const again = ids.filter((id) => id % 10n === 0n)
    await appender.append([...ids, ...again].map((id) => newEvent(id, store.partitions)))
  }
  await appender.close()
}

/** The live generation of each partition. */
export async function generationsOf({ readModel, partitions }: PlantStore): Promise<string[]> {
  const metas = await Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
  return metas.map(({ generation }) => generation)
}

/** The contents of the live generation of each partition, key by key. */
export async function contentOf(store: PlantStore) {
  const redis = openRedis(store.environment.REDIS_URL)
  return Promise.all(allPartitions(store.partitions).map((p) => readStoredPartition(redis, store.topic, p)))
}

/** Expects only keys of live generations in Redis. */
export async function expectNothingLeft(store: PlantStore): Promise<void> {
  const redis = openRedis(store.environment.REDIS_URL)
  const live = await generationsOf(store)
  const keys = await redis.keys(`{${store.topic}:*`)
  const others = keys.filter((key) => !key.endsWith(':live') && !live.some((name) => key.includes(`:${name}:`)))
  expect(others).toEqual([])
}
