import {
  type Attributes,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { Traceparent } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'

/** The semantic conventions of OpenTelemetry for HTTP and messaging that the spans follow. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.45.0'

/** Names and tags of plants are never in a span. Without an SDK in the process all spans are empty. */
export const tracer = trace.getTracerProvider().getTracer('plant-store', undefined, { schemaUrl })

/** Further links would be cut off by the SDK's default limit. */
const MAX_LINKS = 128

/** The context of a span as the traceparent of an event. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): Traceparent {
  return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}` as Traceparent
}

type Operation = 'create' | 'send' | 'process'

/** The name and the attributes that each span about messages has. */
export const messaging = (operation: Operation, topic: string) => ({
  name: `${operation} ${topic}`,
  attributes: {
    'messaging.system.name': 'kafka',
    'messaging.destination.name': topic,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  } as Attributes,
})

/** Ends a span. A failure is named by its type alone: messages may contain what clients sent. */
export function endSpan(span: Span, errorType?: string): void {
  if (errorType !== undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', errorType)
  }
  span.end()
}

type Traced = { traceparent?: Traceparent | undefined }

/** The partition and the group are those of events that are processed. */
type Batch = { topic: string; partition?: Partition; groupId?: string }

/**
 * Runs work on a batch within a span that links to the sampled creations of its events, as many as a span can have, and
 * is a child of the first one; without one there is no span. The span is active meanwhile.
 */
export async function withinBatchSpan<T>(
  operation: 'send' | 'process',
  { topic, partition, groupId }: Batch,
  events: readonly Traced[],
  work: () => Promise<T>,
): Promise<T> {
  const creations = creationsOf(events)
  const [first] = creations
  if (first === undefined) return await work()
  const { name, attributes } = messaging(operation, topic)
  const span = tracer.startSpan(
    name,
    {
      kind: operation === 'send' ? SpanKind.CLIENT : SpanKind.CONSUMER,
      attributes: {
        ...attributes,
        ...(partition !== undefined && { 'messaging.destination.partition.id': String(partition) }),
        ...(groupId !== undefined && { 'messaging.consumer.group.name': groupId }),
        'messaging.batch.message_count': events.length,
      },
      links: creations.map((creation) => ({ context: creation })),
    },
    trace.setSpanContext(ROOT_CONTEXT, first),
  )
  try {
    const result = await context.with(trace.setSpan(context.active(), span), work)
    endSpan(span)
    return result
  } catch (error) {
    endSpan(span, error instanceof Error ? error.name : '_OTHER')
    throw error
  }
}

/** The contexts of the sampled creations, as many as a span can link to. Consumers pay for it without tracing, too. */
function creationsOf(events: readonly Traced[]): SpanContext[] {
  const creations: SpanContext[] = []
  for (const { traceparent } of events) {
    if (traceparent === undefined || creations.length === MAX_LINKS) continue
    const creation = spanContextOf(traceparent)
    if ((creation.traceFlags & TraceFlags.SAMPLED) !== 0) creations.push(creation)
  }
  return creations
}

function spanContextOf(traceparent: Traceparent): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
