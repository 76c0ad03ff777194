import type { Server } from 'node:http'
import type { LaneOptions } from '@plant-store/shared/event-log/lanes.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { TraceIds } from '@plant-store/shared/runtime/json-log.ts'
import { createMeter, type Metrics, metricsIn } from '@plant-store/shared/runtime/metrics.ts'
import type { Authentication } from './auth/open-authentication.ts'
import type { ClaimIndex } from './claim-index/claim-index.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import type { Admission } from './http/admission.ts'
import type { Certificate } from './http/certificate.ts'
import { ERRORS } from './http/errors.ts'
import type { CompletedRequest } from './http/request-observer.ts'
import { type ApiSettings, bytesOfMib } from './settings.ts'

const SERVED = 200
/** The statuses of creates that count: others are the client's errors. The client of the last one has left. */
const COUNTED = [SERVED, 503, 0]
/** The errors of creates that were tried, and undefined for none. */
const TRIED = new Set<number | undefined>([
  undefined,
  ERRORS.notWritten[0],
  ERRORS.outcomeUnknown[0],
  ERRORS.coverageGap[0],
])
/** Finest around the usual response times. The default deadlines are bounds: what is above one has waited it out. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30]
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000]

/** The parts of a running api that are read at each scrape. */
export type ObservedParts = {
  app: { server: Server }
  authentication: Authentication
  certificate: Certificate | undefined
  admission: Admission
  creation: PlantCreation
  claimIndex: ClaimIndex
  readModel: ReadModel
  settings: ApiSettings
}

export function addApiMetrics(metrics: Metrics) {
  const { counter, histogram, gauge, enableExemplars } = metricsIn(metrics)
  const requests = counter(
    'http_requests_total',
    'Requests, by method, route, status and error number; status 0: the client left before the response.',
    ['method', 'route', 'status', 'error'],
  )
  const durations = histogram<string>(
    'http_request_duration_seconds',
    'Time from the head of a request to the end of its response, by method and route.',
    SECONDS,
    { labelNames: ['method', 'route'], enableExemplars },
  )
  const unreadable = counter(
    'http_unreadable_requests_total',
    'Connections closed because of a malformed or too slow request.',
  )
  const appendRecords = histogram('append_records', 'Records per append request, including failed requests.', RECORDS)
  const appendDurations = histogram(
    'append_duration_seconds',
    'Time until an append request is acknowledged or fails.',
    SECONDS,
  )
  const appendFailures = counter(
    'append_failures_total',
    'Appends to a partition without acknowledgement, and waits for leaders. Each is retried while a create waits.',
  )
  const verdicts = counter(
    'verdicts_total',
    'Creates that the log has decided, by the acknowledgement of their append, or by the tail or read model: log.',
    ['by'],
  )
  const verdictWaits = histogram('verdict_wait_seconds', 'Time from append to verdict, per create.', SECONDS)
  const creates = histogram(
    'create_duration_seconds',
    'Time from accepting the request of a create to sending its response, of those that are served or fail.',
    SECONDS,
    { labelNames: ['status'] },
  )
  // Looked up once: that takes as long as an observation.
  const createsBy = new Map(COUNTED.map((status) => [status, creates.labels(String(status))]))
  const verdictsBy = { acknowledgement: verdicts.labels('acknowledgement'), log: verdicts.labels('log') }
  const served = createMeter()

  return {
    /** The successful creates since the last call, how far the read model is behind, and the used part of the window. */
    sample(claimIndex: Pick<ClaimIndex, 'totals' | 'lag'>, settings: Pick<ApiSettings, 'WINDOW_MAX_MIB'>) {
      const { readModelLag, bytes } = claimIndex.totals()
      // Cut off from the log, this instance does not know what the read model lacks.
      const lag = claimIndex.lag() === undefined ? null : readModelLag
      return { ...served.read(), lag, window: bytes / bytesOfMib(settings.WINDOW_MAX_MIB) }
    },

    requestCompleted({ method, route, status, error, durationMs }: CompletedRequest, exemplar?: TraceIds): void {
      requests.inc({ method, route, status, error: error ?? '' })
      const labels = { method, route }
      const value = durationMs / 1_000
      if (method === 'POST' && route === '/plants' && TRIED.has(error)) {
        createsBy.get(status)?.observe(value)
        if (status === SERVED) served.record(durationMs)
      }
      if (enableExemplars) durations.observe({ labels, value, ...(exemplar && { exemplarLabels: exemplar }) })
      else durations.observe(labels, value)
    },

    verdict(waitedMs: number, by: 'acknowledgement' | 'log'): void {
      verdictsBy[by].inc()
      verdictWaits.observe(waitedMs / 1_000)
    },

    observeAppends(appender: LaneOptions['appender']): LaneOptions['appender'] {
      return {
        ...appender,
        async send(leader, channel, batches, signal) {
          appendRecords.observe(batches.values().reduce((sum, records) => sum + records.length, 0))
          const done = appendDurations.startTimer()
          const results = await appender.send(leader, channel, batches, signal)
          done()
          return results
        },
      }
    },

    appendFailed: () => appendFailures.inc(),

    observeParts(parts: ObservedParts): void {
      const { app, authentication, certificate, admission, creation, claimIndex, readModel, settings } = parts
      const { tail } = claimIndex

      app.server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
        if (code !== 'ECONNRESET') unreadable.inc()
      })
      gauge('http_connections', 'Open connections.', admission.connections)
      gauge(
        'http_connections_max',
        'Most open connections, CONNECTIONS_MAX, or less by the file descriptors.',
        () => admission.connectionsMax,
      )
      gauge(
        'http_certificate_expiry_timestamp_seconds',
        'When the certificate of the HTTP API expires, in seconds since 1970.',
        () => certificate?.expiresAt(),
      )
      gauge(
        'token_file_read_timestamp_seconds',
        'When the token file was last read without an error, in seconds since 1970.',
        authentication.tokensReadAt,
      )
      gauge('http_requests_under_way', 'Requests under way.', admission.inFlight)
      gauge('http_requests_under_way_max', 'Most requests under way, REQUESTS_MAX.', () => settings.REQUESTS_MAX)
      gauge(
        'queue_records',
        'Creates between the start of their look-up and their outcome.',
        () => creation.queued().records,
      )
      gauge('queue_bytes', 'Bytes of these creates.', () => creation.queued().bytes)
      gauge('queue_max_bytes', 'Most bytes of these creates, QUEUE_MAX_MIB.', () => bytesOfMib(settings.QUEUE_MAX_MIB))
      gauge('window_claims', 'Claims in the windows of all partitions.', () => claimIndex.totals().claims)
      gauge('window_bytes', 'Memory of the windows of all partitions, in bytes.', () => claimIndex.totals().bytes)
      gauge('window_max_bytes', 'Most memory of the windows, WINDOW_MAX_MIB.', () =>
        bytesOfMib(settings.WINDOW_MAX_MIB),
      )
      gauge(
        'coverage_gap_partitions',
        'Partitions with a coverage gap: they accept no creates until the projector has caught up.',
        () => claimIndex.totals().gaps,
      )
      gauge(
        'tail_lag_records',
        'Records in the log that neither this instance nor the read model has yet.',
        claimIndex.lag,
      )
      gauge('tail_partitions', 'Partitions that the tail of this instance follows.', () => tail.assigned()?.size ?? 0)
      gauge(
        'read_model_lag_records',
        'Records that this instance has and the read model has not applied yet.',
        () => claimIndex.totals().readModelLag,
      )
      gauge('read_model_reachable', '1 while Redis is connected, else 0.', () => Number(readModel.isReady()))
    },
  }
}
