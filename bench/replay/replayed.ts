import type { TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { Redis } from 'ioredis'

const log = createLog('bench', 'warn')

/** The read model that a replay makes: looked at, measured and taken away again. */
export async function openReplayed(redisUrl: string, { topic, partitions }: TopicSettings) {
  const redis = new Redis(redisUrl)
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions }, log)
  await readModel.ready()

  async function field(section: string, name: string): Promise<string> {
    const info = await redis.info(section)
    return info.match(new RegExp(`^${name}:(.*?)\\r?$`, 'm'))?.[1] ?? ''
  }

  return {
    version: () => field('server', 'redis_version'),

    usedBytes: async () => Number(await field('memory', 'used_memory')),

    cpuSeconds: async () => Number(await field('cpu', 'used_cpu_user')) + Number(await field('cpu', 'used_cpu_sys')),

    /** Throws when it does not hold exactly what was seeded: each event a plant, none void, none parked. */
    async check(events: number): Promise<void> {
      const metas = await Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
      const sum = (count: (meta: (typeof metas)[number]) => number) =>
        metas.reduce((total, meta) => total + count(meta), 0)
      const [plants, voids, parked] = [sum((m) => m.plants), sum((m) => m.voids), sum((m) => m.parked)]
      if (plants !== events || voids !== 0 || parked !== 0) {
        throw new Error(
          `${events} events were seeded, but replayed were ${plants} plants, ${voids} voids, ${parked} parked`,
        )
      }
    },

    /** Takes away what is live, and resolves when the memory is free. */
    async drop(): Promise<void> {
      for (const partition of allPartitions(partitions)) {
        const at = `{${topic}:${partition}}:`
        const generation = await redis.get(`${at}live`)
        const keys = ['meta', 'plants', 'order', 'parked'].map((key) => `${at}${generation}:${key}`)
        await redis.del(`${at}live`, ...keys)
      }
    },

    async close(): Promise<void> {
      await readModel.close()
      redis.disconnect()
    },
  }
}

export type Replayed = Awaited<ReturnType<typeof openReplayed>>
