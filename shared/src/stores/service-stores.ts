import { clientIdOf } from '../event-log/groups.ts'
import { createReadModel } from '../read-model/read-model.ts'
import { type Metrics, metricsIn } from '../runtime/metrics.ts'
import { openOperationsPort, type Readiness } from '../runtime/operations.ts'
import type { ServiceContext } from '../runtime/service.ts'
import { systemTime } from '../runtime/time.ts'
import { version } from '../runtime/version.ts'
import { createLivePage, type Sample } from '../status/live-page.ts'
import { createStores } from './open-stores.ts'
import { checkPreconditions, type LogReader, type Service, watchPreconditions } from './preconditions.ts'
import type { ServiceSettings } from './store-settings.ts'

const PAGE_PATIENCE_MS = 2_000

/**
 * The start of both services, up to their own work: opens the operations port, then waits for Kafka and Redis and
 * checks the preconditions. Rejects as `checkPreconditions` does. All that it opens is closed when the service ends.
 */
export async function openServiceStores(
  service: Service,
  settings: ServiceSettings,
  metrics: Metrics,
  context: ServiceContext,
) {
  const { log, fail, ending, closeLater } = context
  let problems: Readiness = () => ['starting']
  let working: Readiness = () => []
  let notices: Readiness = () => []
  const readiness: Readiness = () => {
    const reason = ending()
    return reason === undefined ? problems() : [reason]
  }
  metricsIn(metrics).gauge(`${service}_ready`, '1 while /readyz responds with 200, else 0.', () =>
    Number(readiness().length === 0),
  )
  const page = createLivePage({ service, version, readiness, log })
  const { pages } = page
  const pageHosts = settings.OPS_HOSTS?.toLowerCase().split(/ *, */) ?? []
  const parts = { readiness, notices: () => notices(), metrics, log, pages, pageHosts }
  const operations = await openOperationsPort(settings.OPS_PORT, settings.HOST, parts)
  closeLater(operations.close)

  const stores = await createStores(settings, clientIdOf(service), log)
  closeLater(stores.close)
  // A separate connection: what Redis refuses the page does not make the service unready.
  page.showStores(() => {
    const topic = { topic: stores.topic, partitions: stores.partitions }
    const readModel = createReadModel({ redis: settings, ...topic }, log, { patienceMs: PAGE_PATIENCE_MS })
    closeLater(readModel.close)
    return { ...topic, kafka: stores.kafka, readModel }
  })
  let failure: string[] = []
  problems = () => ['starting: waiting for Kafka and Redis', ...failure, ...stores.readModel.problems()]
  const startState = await checkPreconditions(stores, service, log, (reason) => {
    failure = [reason]
  })

  return {
    ...stores,
    startState,
    readiness,
    operationsPort: operations.port,

    /**
     * Checks the preconditions until the service ends; a violation ends it. The service is not ready, and reports
     * the problems of its reader of the log, until `reportReady` is called.
     */
    watch(reader: Omit<LogReader, 'topicId'> & { problems: Readiness; notices?: Readiness }): void {
      const { topicId, tableId } = startState
      const watched = { ...reader, topicId, tableId }
      const watch = watchPreconditions(stores, service, watched, { time: systemTime, log, onHalt: fail })
      closeLater(watch.close)
      working = () => [...reader.problems(), ...watch.problems()]
      notices = () => [...(reader.notices?.() ?? []), ...watch.notices()]
      problems = () => ['starting: comparing the log with the read model', ...working()]
    },

    reportReady(): void {
      problems = working
    },

    /** Shows these samples on the page of the operations port, one a second. */
    showSamples(sample: () => Sample): void {
      closeLater(page.showSamples(sample).close)
    },
  }
}
