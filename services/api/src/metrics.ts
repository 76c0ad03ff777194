import type { Server } from 'node:http'
import type { Appender } from '@plant-store/shared/event-log/append.ts'
import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { addGauge, type Metrics } from '@plant-store/shared/runtime/metrics.ts'
import { Counter, Histogram } from 'prom-client'
import type { ClaimIndex } from './claim-index/claim-index.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import type { Admission } from './http/admission.ts'
import type { AnsweredRequest } from './http/request-observer.ts'

/** Finest around what an answer takes, with the default deadlines among the bounds: what is beyond one waited it out. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30]
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000]

/** Parts of a running api that are asked when somebody asks for the metrics. */
export type ObservedParts = {
  server: Server
  admission: Admission
  creation: PlantCreation
  claimIndex: ClaimIndex
  tail: Follower
  readModel: ReadModel
}

/** Adds an api's own metrics to those of its process. */
export function addApiMetrics(metrics: Metrics) {
  const registers = [metrics]
  const requests = new Counter({
    name: 'plant_store_http_requests_total',
    help: 'Requests answered, by method, route, status and, for failures, error number; status 0: the client had left.',
    labelNames: ['method', 'route', 'status', 'error'],
    registers,
  })
  const durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Time from a request taken in to its answer sent, by method and route.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  })
  const unreadable = new Counter({
    name: 'plant_store_http_unreadable_requests_total',
    help: 'Connections ended because what came was no request that can be read, or came too slowly.',
    registers,
  })
  const appendRecords = new Histogram({
    name: 'plant_store_append_records',
    help: 'Records of each append to the log, also of those that failed.',
    buckets: RECORDS,
    registers,
  })
  const appendDurations = new Histogram({
    name: 'plant_store_append_duration_seconds',
    help: 'Time of each append to the log until it was acknowledged or failed.',
    buckets: SECONDS,
    registers,
  })
  const appendFailures = new Counter({
    name: 'plant_store_append_failures_total',
    help: 'Appends to the log that were not acknowledged; each is made again while somebody waits.',
    registers,
  })
  const verdictWaits = new Histogram({
    name: 'plant_store_verdict_wait_seconds',
    help: 'Time from the begin of an append until the log had told who was first, for each create it told.',
    buckets: SECONDS,
    registers,
  })

  return {
    answered({ method, route, status, error, durationMs }: AnsweredRequest): void {
      requests.inc({ method, route, status, error: error ?? '' })
      durations.observe({ method, route }, durationMs / 1_000)
    },

    verdict(waitedMs: number): void {
      verdictWaits.observe(waitedMs / 1_000)
    },

    /** The same appender, observed. */
    observeAppends({ append }: Pick<Appender, 'append'>): Pick<Appender, 'append'> {
      return {
        async append(records) {
          appendRecords.observe(records.length)
          const done = appendDurations.startTimer()
          try {
            await append(records)
          } catch (error) {
            appendFailures.inc()
            throw error
          } finally {
            done()
          }
        },
      }
    },

    /** Adds what is asked of the parts, when they are there. */
    observeParts({ server, admission, creation, claimIndex, tail, readModel }: ObservedParts): void {
      const gauge = (name: string, help: string, read: () => number | undefined) =>
        addGauge(metrics, `plant_store_${name}`, help, read)

      server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
        if (code !== 'ECONNRESET') unreadable.inc()
      })
      gauge('http_connections', 'Connections open now.', admission.connections)
      gauge('http_requests_under_way', 'Requests that are being worked on now.', admission.underWay)
      gauge('queue_records', 'Creates that wait for the next append.', () => creation.queued().records)
      gauge(
        'queue_bytes',
        'Bytes of the creates that wait for the next append.',
        () => creation.queued().bytes,
      )
      gauge(
        'window_claims',
        'Plants that the window holds, of all partitions.',
        () => claimIndex.totals().claims,
      )
      gauge(
        'window_bytes',
        'Memory that the window takes, of all partitions.',
        () => claimIndex.totals().bytes,
      )
      gauge(
        'coverage_gap_partitions',
        'Partitions with offsets that neither read model nor window knows: no create is taken for them.',
        () => claimIndex.totals().gaps,
      )
      gauge(
        'tail_lag_records',
        'Records in the log, as far as is known, that this instance has not read yet.',
        tail.lag,
      )
      gauge('tail_partitions', 'Partitions that this instance follows now.', () => tail.assigned()?.size ?? 0)
      gauge(
        'read_model_lag_records',
        'Records that this instance has read and the read model has not passed yet.',
        () => claimIndex.totals().readModelLag,
      )
      gauge('read_model_reachable', '1 while the connection to Redis stands, else 0.', () =>
        Number(readModel.isReady()),
      )
    },
  }
}
