import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { openRebuild } from '../../../plantctl/src/rebuild/open-rebuild.ts'
import type { Reader } from '../reader.ts'

/** A whole rebuild of an empty read model, its time counted from its very begin. */
export const readByRebuild: Reader = async ({ kafkaBrokers, redisUrl, topic, partitions }, onStart) => {
  const log = createLog('bench', 'warn')
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions }, log)
  await readModel.ready()
  const kafka = createKafka(kafkaBrokers.split(','), 'bench', log)
  const { generations } = readModel
  const rebuild = openRebuild({ kafka, topic, partitions, generations, log })
  onStart()
  const finished = await rebuild.run({
    partitions: allPartitions(partitions),
    fromEmpty: true,
    signal: new AbortController().signal,
    onProgress() {},
  })
  const failed = finished.filter(({ is }) => is !== 'switched')
  if (failed.length > 0) throw new Error(`a rebuild of what was seeded was refused: ${JSON.stringify(failed)}`)
  return readModel.close
}
