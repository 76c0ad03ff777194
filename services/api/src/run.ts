import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { createLanes } from '@plant-store/shared/event-log/lanes.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { runService, type ServiceContext } from '@plant-store/shared/runtime/service.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { openServiceStores } from '@plant-store/shared/stores/service-stores.ts'
import { startTracing } from '@plant-store/shared/tracing/start-tracing.ts'
import { createApp } from './app.ts'
import { openAuthentication } from './auth/open-authentication.ts'
import { createClaimIndex } from './claim-index/claim-index.ts'
import { CREATE_LIMITS, createPlantCreation } from './create-plant/create-plant.ts'
import { createTracing } from './create-plant/create-span.ts'
import { openCertificate } from './http/certificate.ts'
import { listenAt } from './http/server.ts'
import { addApiMetrics } from './metrics.ts'
import { createPlantLister } from './read-plants/list-plants.ts'
import { createPlantReader } from './read-plants/read-plant.ts'
import { ApiSettings, bytesOfMib, windowBytesOf } from './settings.ts'

const TAIL_FETCH_LIMITS = { maxWaitTimeInMs: 500 }
/** At the end, requests in flight get their response within this time; then their last bytes are sent. */
const RESPONSES_AT_STOP_WITHIN_MS = 2_500
const LAST_BYTES_WITHIN_MS = 250
const STOP_WITHIN_MS = 4_000

async function start(context: ServiceContext): Promise<void> {
  const { log, closeLater } = context
  const settings = readSettings(ApiSettings, process.env)
  const windowBytes = windowBytesOf(settings)
  const authentication = await openAuthentication(settings, log)
  closeLater(authentication.close)
  const certificate = await openCertificate(settings, log)
  if (certificate !== undefined) closeLater(certificate.close)
  const isTraced = await startTracing(context, settings)
  const metrics = createMetrics(context.name, { withExemplars: isTraced })
  const observe = addApiMetrics(metrics)
  const service = await openServiceStores('api', settings, metrics, context)
  const { kafka, readModel, partitions } = service
  const claimIndex = openClaimIndex(service, windowBytes, context)
  const { tail } = claimIndex

  const appender = createAppender(kafka, service.topic, service.startState.topicId)
  closeLater(appender.close)
  await appender.connect()
  const tracing = isTraced ? createTracing(service.topic) : undefined
  const observed = observe.observeAppends(appender)
  const traced = tracing === undefined ? observed : tracing.traceSends(observed)
  const lanes = createLanes({ appender: traced, partitions, time: systemTime, log, onFailure: observe.appendFailed })
  const creation = createPlantCreation(readModel, lanes, claimIndex, {
    log,
    time: systemTime,
    tracing,
    source: service.source,
    deadlineMs: settings.CREATE_DEADLINE_MS,
    limits: {
      ...CREATE_LIMITS,
      maxQueuedBytes: bytesOfMib(settings.QUEUE_MAX_MIB),
      maxQueuedRecords: settings.REQUESTS_MAX,
      maxQueueAgeMs: settings.QUEUE_MAX_AGE_MS,
    },
    onVerdict: observe.verdict,
  })
  service.watch({
    passed: () => new Map(allPartitions(partitions).map((partition) => [partition, claimIndex.passed(partition)])),
    updateEnds: tail.updateEnds,
    problems: () => [...readModel.problems(), ...claimIndex.problems()],
    notices: () => [
      ...claimIndex.notices(),
      ...lanes.problems(),
      ...appender.throttling(),
      ...authentication.problems(),
      ...(certificate?.problems() ?? []),
    ],
  })
  const shutdown = { at: Number.POSITIVE_INFINITY }
  const readOptions = { time: systemTime, deadlineMs: settings.READ_DEADLINE_MS, shutdown }
  const { app, admission } = await createApp({
    log,
    settings,
    tls: certificate?.current(),
    partitions,
    creation,
    reader: createPlantReader(readModel, claimIndex, readOptions),
    lister: createPlantLister(readModel, claimIndex, readOptions),
    isTraced,
    strategy: authentication.strategy,
    onCompleted: observe.requestCompleted,
    problems: service.readiness,
  })
  service.showSamples(() => observe.sample(claimIndex, settings))
  observe.observeParts({ app, authentication, certificate, admission, creation, claimIndex, readModel, settings })
  certificate?.renewOn(app.server)
  // The api listens only when the log is verified to be the one that the read model was folded from.
  await tail.verified
  await listenAt(app, settings)
  service.reportReady()
  // Each request gets a response.
  closeLater(async (hurry) => {
    // Accepts requests all that time, closes the idle connections, sends the responses in flight, and lets the last
    // append end.
    await admission.drain(settings.DRAIN_MS, hurry)
    // Requests that wait for an issuer or for Redis would get their response too late.
    void authentication.close()
    setTimeout(readModel.failCalls, RESPONSES_AT_STOP_WITHIN_MS).unref()
    creation.endWithin(RESPONSES_AT_STOP_WITHIN_MS)
    shutdown.at = systemTime.now() + RESPONSES_AT_STOP_WITHIN_MS
    setTimeout(admission.endConnections, RESPONSES_AT_STOP_WITHIN_MS + LAST_BYTES_WITHIN_MS).unref()
    await app.close()
    await creation.close()
  }, settings.DRAIN_MS + STOP_WITHIN_MS)
  log.info({ operationsPort: service.operationsPort, partitions }, 'ready')
}

type Service = Awaited<ReturnType<typeof openServiceStores>>

function openClaimIndex(
  { kafka, readModel, topic, partitions, startState }: Service,
  windowMaxBytes: number,
  { log, fail, closeLater }: ServiceContext,
) {
  const common = { log, time: systemTime }
  const claimIndex = createClaimIndex({
    ...common,
    ...startState,
    readModel,
    follow: (sink) =>
      createFollower({
        ...common,
        ...sink,
        kafka,
        topic,
        partitions,
        topicId: startState.topicId,
        // A separate group that commits nothing: Kafka forgets it when this process has left.
        groupId: () => `${groupPrefix(topic, 'tail')}-${randomUUID()}`,
        read: recordReader(partitions),
        fetchLimits: TAIL_FETCH_LIMITS,
      }),
    windowMaxBytes,
    onHalt: fail,
  })
  closeLater(claimIndex.close)
  claimIndex.tail.start()
  return claimIndex
}

await runService('api', process.env.LOG_LEVEL, start)
