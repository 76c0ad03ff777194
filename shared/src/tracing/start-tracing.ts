import { DiagLogLevel, diag } from '@opentelemetry/api'
import { createLineLimit } from '../runtime/line-limit.ts'
import type { Log } from '../runtime/log.ts'
import type { ServiceContext } from '../runtime/service.ts'
import { version } from '../runtime/version.ts'
import { isTracingOn, type TracingSettings } from './tracing-settings.ts'

/** The last spans are sent within this time at the end. */
const LAST_SPANS_WITHIN_MS = 1_000
/** The report of a failed export has all that the collector has sent, up to 4 MiB. */
const REPORT_MAX_CHARACTERS = 2_000

/**
 * Starts the SDK of OpenTelemetry when the settings name a collector, and says whether it did. Without one the SDK is
 * not even loaded. Spans wait in a queue of bounded length; those that do not fit are dropped.
 */
export async function startTracing({ name, log, closeLater }: ServiceContext, settings: TracingSettings) {
  if (!isTracingOn(settings)) return false
  const { startNodeSdk } = await import('@opentelemetry/sdk-node')
  const sdk = startNodeSdk({
    metricReaders: [],
    logRecordProcessors: [],
    resourceAttributes: { 'service.version': version, ...serviceName(name, settings) },
  })
  const report = reporter(log)
  const ignore = () => {}
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  closeLater(() => sdk.shutdown(), LAST_SPANS_WITHIN_MS)
  return true
}

/** The SDK reports each failed export, and each time that its queue was full. */
export function reporter(log: Pick<Log, 'warn'>): (...parts: unknown[]) => void {
  const limit = createLineLimit()
  return (...parts) => {
    const leftOut = limit()
    if (leftOut === undefined) return
    // Other objects are the bytes of a response.
    const text = parts.filter((part) => typeof part === 'string' || part instanceof Error).join(' ')
    log.warn({ leftOut }, `tracing: ${text.slice(0, REPORT_MAX_CHARACTERS)}`)
  }
}

/** The name of this service, unless the environment has one. */
function serviceName(name: string, settings: TracingSettings): Record<string, string> {
  const { OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES = '' } = settings
  if (OTEL_SERVICE_NAME !== undefined || /(^|,)\s*service\.name\s*=/.test(OTEL_RESOURCE_ATTRIBUTES)) return {}
  return { 'service.name': `plant-store-${name}` }
}
