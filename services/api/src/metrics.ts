import type { Server } from 'node:http'
import type { Appender } from '@plant-store/shared/event-log/append.ts'
import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { TraceIds } from '@plant-store/shared/runtime/json-log.ts'
import { addGauge, growthOf, type Metrics } from '@plant-store/shared/runtime/metrics.ts'
import type { Sample } from '@plant-store/shared/status/history.ts'
import { Counter, Histogram, Registry } from 'prom-client'
import type { ClaimIndex } from './claim-index/claim-index.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import type { Admission } from './http/admission.ts'
import type { Certificate } from './http/certificate.ts'
import type { CompletedRequest } from './http/request-observer.ts'

/** Finest around the usual response times. The default deadlines are bounds: what is above one has waited it out. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30]
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000]

/** The parts of a running api that are read at each scrape. */
export type ObservedParts = {
  server: Server
  certificate: Certificate | undefined
  admission: Admission
  creation: PlantCreation
  claimIndex: ClaimIndex
  tail: Follower
  readModel: ReadModel
  limits: { connections: number; requests: number; queuedBytes: number; windowBytes: number }
}

/** Adds the metrics of an api to those of its process. */
export function addApiMetrics(metrics: Metrics) {
  const registers = [metrics]
  const enableExemplars = metrics.contentType !== Registry.PROMETHEUS_CONTENT_TYPE
  const requests = new Counter({
    name: 'plant_store_http_requests_total',
    help: 'Requests, by method, route, status and error number; status 0: the client left before the response.',
    labelNames: ['method', 'route', 'status', 'error'],
    registers,
  })
  const durations: Histogram = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by method and route.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    enableExemplars,
    registers,
  })
  const unreadable = new Counter({
    name: 'plant_store_http_unreadable_requests_total',
    help: 'Connections closed because of a malformed or too slow request.',
    registers,
  })
  const appendRecords = new Histogram({
    name: 'plant_store_append_records',
    help: 'Records per append to the log, including failed appends.',
    buckets: RECORDS,
    registers,
  })
  const appendDurations = new Histogram({
    name: 'plant_store_append_duration_seconds',
    help: 'Time until an append to the log is acknowledged or fails.',
    buckets: SECONDS,
    registers,
  })
  const appendFailures = new Counter({
    name: 'plant_store_append_failures_total',
    help: 'Appends to the log without acknowledgement. Each is retried while a create waits for it.',
    registers,
  })
  const acknowledgements = new Counter({
    name: 'plant_store_append_acknowledgements_total',
    help: 'Acknowledged appends; decides="yes": its creates did not have to wait for the tail.',
    labelNames: ['decides'],
    registers,
  })
  const verdictWaits = new Histogram({
    name: 'plant_store_verdict_wait_seconds',
    help: 'Time from append to verdict, per create.',
    buckets: SECONDS,
    registers,
  })

  const created = growthOf(durations, { method: 'POST', route: '/plants' })

  return {
    /** The creates since the last call, how far the read model is behind, and the used part of the window. */
    async sample({ totals }: Pick<ClaimIndex, 'totals'>, limits: { windowBytes: number }): Promise<Sample> {
      const { readModelLag, bytes } = totals()
      return { ...(await created()), lag: readModelLag, window: bytes / limits.windowBytes }
    },

    requestCompleted({ method, route, status, error, durationMs }: CompletedRequest, exemplar?: TraceIds): void {
      requests.inc({ method, route, status, error: error ?? '' })
      const labels = { method, route }
      const value = durationMs / 1_000
      if (enableExemplars) durations.observe({ labels, value, ...(exemplar && { exemplarLabels: exemplar }) })
      else durations.observe(labels, value)
    },

    acknowledged(isDecided: boolean): void {
      acknowledgements.inc({ decides: isDecided ? 'yes' : 'no' })
    },

    verdict(waitedMs: number): void {
      verdictWaits.observe(waitedMs / 1_000)
    },

    /** Wraps an appender so that its appends are measured. */
    observeAppends({ append }: Pick<Appender, 'append'>): Pick<Appender, 'append'> {
      return {
        async append(records) {
          appendRecords.observe(records.length)
          const done = appendDurations.startTimer()
          try {
            return await append(records)
          } catch (error) {
            appendFailures.inc()
            throw error
          } finally {
            done()
          }
        },
      }
    },

    /** Adds the metrics that are read from the parts. */
    observeParts(parts: ObservedParts): void {
      const { server, certificate, admission, creation, claimIndex, tail, readModel, limits } = parts
      const gauge = (name: string, help: string, read: () => number | undefined) =>
        addGauge(metrics, `plant_store_${name}`, help, read)

      server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
        if (code !== 'ECONNRESET') unreadable.inc()
      })
      gauge('http_connections', 'Open connections.', admission.connections)
      gauge('http_connections_max', 'Most open connections, CONNECTIONS_MAX.', () => limits.connections)
      gauge(
        'http_certificate_expiry_timestamp_seconds',
        'When the certificate of the HTTP API expires, in seconds since 1970.',
        () => certificate?.expiresAt(),
      )
      gauge('http_requests_under_way', 'Requests in flight.', admission.inFlight)
      gauge('http_requests_under_way_max', 'Most requests in flight, REQUESTS_MAX.', () => limits.requests)
      gauge('queue_records', 'Creates that wait for the next append.', () => creation.queued().records)
      gauge('queue_bytes', 'Bytes of the creates that wait for the next append.', () => creation.queued().bytes)
      gauge('queue_max_bytes', 'Most bytes of the waiting creates, QUEUE_MAX_MIB.', () => limits.queuedBytes)
      gauge('window_claims', 'Claims in the windows of all partitions.', () => claimIndex.totals().claims)
      gauge('window_bytes', 'Memory of the windows of all partitions, in bytes.', () => claimIndex.totals().bytes)
      gauge('window_max_bytes', 'Most memory of the windows, WINDOW_MAX_MIB.', () => limits.windowBytes)
      gauge(
        'coverage_gap_partitions',
        'Partitions with a coverage gap: they accept no creates until the projector has caught up.',
        () => claimIndex.totals().gaps,
      )
      gauge('tail_lag_records', 'Records in the log that the tail of this instance has not read yet.', tail.lag)
      gauge('tail_partitions', 'Partitions that the tail of this instance follows.', () => tail.assigned()?.size ?? 0)
      gauge(
        'read_model_lag_records',
        'Records that the tail of this instance has read and the read model has not applied yet.',
        () => claimIndex.totals().readModelLag,
      )
      gauge('read_model_reachable', '1 while Redis is connected, else 0.', () => Number(readModel.isReady()))
    },
  }
}
