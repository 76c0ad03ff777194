import { type Span, trace } from '@opentelemetry/api'
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino'

export type { Logger }

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error']

/** The log of a process: one JSON object a line on stdout. */
export function createLog(name: string, level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => traceIds(trace.getActiveSpan()) ?? {},
    formatters: { level: (label) => ({ level: label }) },
    // Callers pass no secrets, but libraries may: in what they log, or in their errors.
    serializers: { err: describeError, req: describeRequest, request: describeRequest, headers: () => '…' },
  }
  return pino(options, destination)
}

/** The ids of a span, by the names that OpenTelemetry has for them in logs and exemplars. */
export type TraceIds = { trace_id: string; span_id: string }

export function traceIds(span: Span | undefined): TraceIds | undefined {
  if (span === undefined) return undefined
  const { traceId, spanId } = span.spanContext()
  return { trace_id: traceId, span_id: spanId }
}

/** Nothing else that an error carries: it may be a whole request with its Authorization header. */
function describeError(error: unknown): object | string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : `not an Error but: ${typeof error}`
  const { type, message, stack } = stdSerializers.err(error)
  const { code, errors } = error as { code?: unknown; errors?: unknown }
  return {
    type,
    message,
    stack,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(Array.isArray(errors) && { errors: errors.map(describeError) }),
  }
}

/** Neither headers nor query. */
function describeRequest({ method, url }: { method?: string; url?: string }) {
  return { method, path: url?.split('?')[0] }
}
