import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, partitionOf } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { Redis } from 'ioredis'

const IDS_PER_LOOK_UP = 5_000

/** Opens the read model of a grown store, to count its plants, sample their ids and look ids up. */
export async function openGrownReadModel(settings: ReadModelSettings & { redis: { REDIS_URL: string } }) {
  const { topic } = settings
  const partitions = allPartitions(settings.partitions)
  const redis = new Redis(settings.redis.REDIS_URL)
  const readModel = createReadModel(settings, createLog('bench', 'warn'))
  await readModel.ready()

  return {
    async plants(): Promise<number> {
      const metas = await Promise.all(partitions.map((partition) => readModel.meta(partition)))
      return metas.reduce((sum, { plants }) => sum + plants, 0)
    },

    /** About `count` ids of its plants, drawn at random from all of them. */
    async sampleIds(count: number): Promise<BigInt64Array> {
      const perPartition = Math.ceil(count / partitions.length)
      const drawn = await Promise.all(
        partitions.map(async (partition) => {
          const at = `{${topic}:${partition}}:`
          // A negative count draws with repetition: Redis need not look for fields that are not drawn yet.
          return redis.call('HRANDFIELD', `${at}${await redis.get(`${at}live`)}:plants`, -perPartition)
        }),
      )
      return BigInt64Array.from((drawn as string[][]).flat(), BigInt)
    },

    /** The ids of these that the read model does not have. */
    async missing(ids: readonly bigint[]): Promise<bigint[]> {
      const missing: bigint[] = []
      for (let from = 0; from < ids.length; from += IDS_PER_LOOK_UP) {
        const byPartition = Map.groupBy(ids.slice(from, from + IDS_PER_LOOK_UP) as PlantId[], (id) =>
          partitionOf(Buffer.from(String(id)), partitions.length),
        )
        const lookUps = [...byPartition].map(([partition, ids]) => ({ partition, ids }))
        const answers = await readModel.lookUp(lookUps)
        for (const [n, { ids }] of lookUps.entries())
          missing.push(...ids.filter((_, at) => answers[n]?.entries[at] === undefined))
      }
      return missing
    },

    async close(): Promise<void> {
      await readModel.close()
      redis.disconnect()
    },
  }
}

export type GrownReadModel = Awaited<ReturnType<typeof openGrownReadModel>>
