import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { allPartitions } from '@plant-store/shared/plant/offset.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { openOperationsPort, type Readiness, readinessUntil } from '@plant-store/shared/runtime/operations.ts'
import { runService, type ServiceContext } from '@plant-store/shared/runtime/service.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { checkPreconditions, watchPreconditions } from '@plant-store/shared/stores/preconditions.ts'
import { createApp } from './app.ts'
import { openAuthentication } from './auth/open-authentication.ts'
import { createClaimIndex } from './claim-index/claim-index.ts'
import { CYCLE_LIMITS } from './create-plant/commit-cycle.ts'
import { createPlantCreation } from './create-plant/create-plant.ts'
import { addApiMetrics } from './metrics.ts'
import { createPlantLister } from './read-plants/list-plants.ts'
import { createPlantReader } from './read-plants/read-plant.ts'
import { ApiSettings } from './settings.ts'

const TAIL_MIN_BYTES = 1
const TAIL_MAX_WAIT_MS = 500
/** At the end what is under way is answered within this time, then a little is left to send the answers. */
const ANSWERS_AT_STOP_WITHIN_MS = 2_500
const LAST_BYTES_WITHIN_MS = 250
const STOP_WITHIN_MS = 4_000

async function start({ log, fail, ending, closeLater }: ServiceContext): Promise<void> {
  const settings = readSettings(ApiSettings, process.env)
  const authentication = await openAuthentication(settings, log)
  closeLater(authentication.close)
  const topic = { topic: settings.PLANTS_TOPIC, partitions: settings.PLANTS_PARTITIONS }

  let problems: Readiness = () => ['starting']
  const readiness = readinessUntil(ending, () => problems())
  const metrics = createMetrics()
  const observe = addApiMetrics(metrics)
  const operations = await openOperationsPort(settings.OPS_PORT, settings.HOST, {
    ...{ readiness, metrics, log },
  })
  closeLater(operations.close)

  const kafka = createKafka(settings.KAFKA_BROKERS.split(','), 'plant-store-api', log)
  const readModel = createReadModel({ redisUrl: settings.REDIS_URL, ...topic }, log)
  closeLater(readModel.close)
  problems = () => ['starting: waiting for kafka and redis', ...readModel.problems()]
  const standing = await checkPreconditions(kafka, readModel, topic, log)

  const claimIndex = createClaimIndex({
    readModel,
    log,
    time: systemTime,
    ...standing,
    windowMaxBytes: settings.WINDOW_MAX_MIB * 1_048_576,
    onHalt: fail,
  })
  closeLater(claimIndex.close)
  const tail = createFollower({
    ...{ ...topic, ...claimIndex.sink, topicId: standing.topicId, kafka, log, time: systemTime },
    // A group of its own that commits nothing: Kafka forgets it when this process has left.
    groupId: () => `${groupPrefix(settings.PLANTS_TOPIC, 'tail')}-${randomUUID()}`,
    read: recordReader(topic.partitions),
    minBytes: TAIL_MIN_BYTES,
    maxWaitMs: TAIL_MAX_WAIT_MS,
  })
  closeLater(tail.close)
  tail.start()
  const passed = () =>
    new Map(allPartitions(topic.partitions).map((partition) => [partition, claimIndex.passed(partition)]))
  const watching = { time: systemTime, log, onHalt: fail }
  const reading = { topicId: standing.topicId, passed, noteEnds: tail.noteEnds }
  closeLater(watchPreconditions(kafka, readModel, topic, reading, watching).close)

  const appender = createAppender(kafka, settings.PLANTS_TOPIC)
  closeLater(appender.close)
  await appender.connect()
  const creation = createPlantCreation(readModel, observe.observeAppends(appender), claimIndex, {
    log,
    time: systemTime,
    deadlineMs: settings.CREATE_DEADLINE_MS,
    limits: {
      ...CYCLE_LIMITS,
      maxQueuedBytes: settings.QUEUE_MAX_MIB * 1_048_576,
      maxQueueAgeMs: settings.QUEUE_MAX_AGE_MS,
    },
    onVerdict: observe.verdict,
    onHalt: fail,
  })
  const readOptions = { log, time: systemTime, deadlineMs: settings.READ_DEADLINE_MS }
  const reader = createPlantReader(readModel, claimIndex, readOptions)
  const lister = createPlantLister(readModel, claimIndex, readOptions)
  const { app, admission } = await createApp({
    ...{ log, limits: settings, partitions: topic.partitions, creation, reader, lister },
    strategies: authentication.strategies,
    ...{ onAnswered: observe.answered, problems: readiness },
  })
  observe.observeParts({ server: app.server, admission, creation, claimIndex, tail, readModel })
  // Not before the log was seen to be the one that the read model was folded from.
  const working = () => [
    ...tail.problems().map((problem) => `tail: ${problem}`),
    ...readModel.problems(),
    ...claimIndex.problems(),
  ]
  problems = () => ['starting: comparing the log with the read model', ...working()]
  await tail.proven
  const address = await app.listen({ port: settings.PORT, host: settings.HOST })
  problems = working
  closeLater(async () => {
    // Ends the connections, accepts nothing more, answers what is under way, then lets the last append end.
    await admission.drain(settings.DRAIN_MS)
    creation.endWithin(ANSWERS_AT_STOP_WITHIN_MS)
    setTimeout(
      () => app.server.closeAllConnections(),
      ANSWERS_AT_STOP_WITHIN_MS + LAST_BYTES_WITHIN_MS,
    ).unref()
    await app.close()
    await creation.close()
  }, settings.DRAIN_MS + STOP_WITHIN_MS)
  log.info({ address, operationsPort: operations.port, partitions: topic.partitions }, 'listening')
}

await runService('api', process.env.LOG_LEVEL, start)
