import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { rebuildStore } from '../../plantctl/src/rebuild/open-rebuild.ts'
import { createProjector } from '../../services/projector/src/projector.ts'
import type { Reader, Reading } from './readers.ts'

const log = createLog('bench', 'warn')

const connected = ({ kafkaBrokers, topic, partitions }: Reading) => ({
  ...{ topic, partitions, log, kafka: createKafka(kafkaBrokers.split(','), 'bench', log) },
})

const following = (reading: Reading) => ({
  ...{ ...connected(reading), fetchLimits: reading.fetchLimits, time: systemTime },
  ...{ read: recordReader(reading.partitions), groupId: () => `bench-${randomUUID()}` },
})

async function openReadModel({ redisUrl, topic, partitions }: Reading) {
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions }, log)
  await readModel.ready()
  return readModel
}

/** Follows the topic as the product does, and makes of each record what the protocol sees in it. */
export const readDecoded: Reader = async (reading, { onStart, count, fail }) => {
  const follower = createFollower({
    ...following(reading),
    async checkpointOf() {
      onStart()
      return BEFORE_LOG
    },
    async onRecords(_partition, records, next) {
      count(records.length)
      return next
    },
    onHalt: fail,
  })
  follower.start()
  return follower.close
}

/** A projector that finds an empty read model. */
export const readIntoRedis: Reader = async (reading, { onStart, count, fail }) => {
  const readModel = await openReadModel(reading)
  const projector = createProjector({
    readModel: {
      async meta(partition) {
        onStart()
        return readModel.meta(partition)
      },
      async apply(partition, expected, next, records, fresh) {
        const applied = await readModel.apply(partition, expected, next, records, fresh)
        count(applied.is === 'applied' ? records.length : 0)
        return applied
      },
    },
    follow: (sink) => createFollower({ ...following(reading), ...sink }),
    ...{ log, time: systemTime, freshGeneration: randomUUID, onHalt: fail },
  })
  projector.start()
  return async () => {
    await projector.close()
    await readModel.close()
  }
}

/** A whole rebuild of an empty read model. The time counts from its begin. */
export const readByRebuild: Reader = async (reading, { onStart, count }) => {
  const readModel = await openReadModel(reading)
  const store = { ...connected(reading), generations: readModel.generations }
  onStart()
  const finished = await rebuildStore(store, {
    ...{ partitions: allPartitions(reading.partitions), fromEmpty: true, onProgress() {} },
    signal: new AbortController().signal,
  })
  const failed = finished.filter(({ is }) => is !== 'switched')
  if (failed.length > 0) throw new Error(`a rebuild of the appended events was refused: ${JSON.stringify(failed)}`)
  count(reading.events)
  return readModel.close
}
