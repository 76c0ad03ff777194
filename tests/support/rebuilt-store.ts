import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect } from 'vitest'
import { newEvent } from './new-events.ts'
import { openRedis, type PlantStore } from './plant-store.ts'
import { type Ended, startPlantctl } from './plantctl.ts'
import { readStoredPartition } from './stored-partition.ts'
import { appendTo } from './topic.ts'

/** Runs a plantctl command on the store. */
export const run = (store: PlantStore, ...args: string[]): Promise<Ended> =>
  startPlantctl(args, store.environment).ended

/** Runs a plantctl command that has to succeed. */
export async function expectRun(store: PlantStore, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run(store, ...args)
  expect({ args, code, output: code === 0 ? '' : stdout + stderr }).toEqual({ args, code: 0, output: '' })
}

/** Appends the events of `plants` plants; every tenth id is claimed twice. */
export function fill(store: PlantStore, plants: number): Promise<void> {
  const ids = Array.from({ length: plants }, (_, n) => BigInt(-1_000_000 - n))
  const claimed = ids.flatMap((id) => (id % 10n === 0n ? [id, id] : [id]))
  const events = claimed.map((id) => newEvent(id, store.partitions))
  return appendTo(store, events)
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
