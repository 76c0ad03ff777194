import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { projectorGroup } from '@plant-store/shared/event-log/groups.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { openOperationsPort, type Readiness, readinessUntil } from '@plant-store/shared/runtime/operations.ts'
import { runService, type ServiceContext } from '@plant-store/shared/runtime/service.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { checkPreconditions, watchPreconditions } from '@plant-store/shared/stores/preconditions.ts'
import { addProjectorMetrics } from './metrics.ts'
import { createProjector } from './projector.ts'
import { ProjectorSettings } from './settings.ts'

const MIN_BYTES = 1
const MAX_WAIT_MS = 500
/** Fuller fetches cost less, and a plant may be in the read model so much later. */
const FETCH_EVERY_MS = 12

async function start({ log, fail, ending, closeLater }: ServiceContext): Promise<void> {
  const settings = readSettings(ProjectorSettings, process.env)
  const topic = { topic: settings.PLANTS_TOPIC, partitions: settings.PLANTS_PARTITIONS }

  let problems: Readiness = () => ['starting']
  const readiness = readinessUntil(ending, () => problems())
  const metrics = createMetrics()
  const observe = addProjectorMetrics(metrics)
  const operations = await openOperationsPort(settings.OPS_PORT, settings.HOST, {
    ...{ readiness, metrics, log },
  })
  closeLater(operations.close)

  const kafka = createKafka(settings.KAFKA_BROKERS.split(','), 'plant-store-projector', log)
  const readModel = createReadModel({ redisUrl: settings.REDIS_URL, ...topic }, log)
  closeLater(readModel.close)
  problems = () => ['starting: waiting for kafka and redis', ...readModel.problems()]
  const { topicId } = await checkPreconditions(kafka, readModel, topic, log)

  const groupId = () => projectorGroup(settings.PLANTS_TOPIC)
  const read = recordReader(topic.partitions)
  const fetching = {
    ...{ topicId, groupId, read },
    minBytes: MIN_BYTES,
    maxWaitMs: MAX_WAIT_MS,
    fetchEveryMs: FETCH_EVERY_MS,
  }
  const projector = createProjector({
    readModel: observe.observeReadModel(readModel),
    follow: (sink) => createFollower({ ...topic, ...sink, kafka, log, time: systemTime, ...fetching }),
    log,
    time: systemTime,
    freshGeneration: randomUUID,
    onHalt: fail,
  })
  closeLater(projector.close)
  const working = () => [...readModel.problems(), ...projector.problems()]
  projector.start()
  observe.observeParts(projector, readModel)
  problems = () => ['starting: comparing the log with the read model', ...working()]
  void projector.proven.then(() => {
    problems = working
  })
  const watching = { time: systemTime, log, onHalt: fail }
  const reading = { topicId, passed: projector.checkpoints, noteEnds: projector.noteEnds }
  closeLater(watchPreconditions(kafka, readModel, topic, reading, watching).close)
  log.info({ operationsPort: operations.port, ...topic }, 'projecting')
}

await runService('projector', process.env.LOG_LEVEL, start)
