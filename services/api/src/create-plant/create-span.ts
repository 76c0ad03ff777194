import { ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api'
import type { LaneOptions } from '@plant-store/shared/event-log/lanes.ts'
import type { NewRecord, Traceparent } from '@plant-store/shared/plant/plant-created.ts'
import { endSpan, messaging, traceparentOf, tracer, withinBatchSpan } from '@plant-store/shared/tracing/spans.ts'

/** The steps of a create on its way to the log, in order. */
type Step = 'look up plants' | 'wait for verdict'

export type CreateTracing = ReturnType<typeof createTracing>
export type CreateSpan = ReturnType<CreateTracing['start']>

/** The spans of creates. */
export function createTracing(topic: string) {
  return {
    /** Starts the span of an event below the span of its request. The event carries the context of the new span. */
    start(request: Span, { key, partition, headers }: NewRecord) {
      const { name, attributes } = messaging('create', topic)
      const ofRecord = {
        'messaging.destination.partition.id': String(partition),
        'messaging.message.id': String(headers.ce_id),
        'kafka.message.key': key.toString('latin1'),
      }
      const options = { kind: SpanKind.PRODUCER, attributes: { ...attributes, ...ofRecord } }
      const span = tracer.startSpan(name, options, below(request))
      const creation = span.spanContext()
      headers.traceparent = Buffer.from(traceparentOf(creation), 'latin1')
      let current: Span | undefined
      return {
        /** Ends the step before. */
        step(name: Step): void {
          current?.end()
          current = tracer.startSpan(name, {}, below(span))
        },
        /** `failure` names why the create has neither created a plant nor found one. */
        end(failure?: string): void {
          current?.end()
          endSpan(span, failure)
        },
      }
    },

    /** Wraps an appender so that each of its requests has a span. */
    traceSends(appender: LaneOptions['appender']): LaneOptions['appender'] {
      return {
        ...appender,
        send: (leader, channel, batches, signal) =>
          withinBatchSpan('send', { topic }, [...batches.values()].flat().map(traceparentIn), () =>
            appender.send(leader, channel, batches, signal),
          ),
      }
    },
  }
}

/** The header as `start` has set it, or the client. */
const traceparentIn = ({ headers }: NewRecord) => ({
  traceparent: headers.traceparent?.toString() as Traceparent | undefined,
})
const below = (span: Span) => trace.setSpan(ROOT_CONTEXT, span)
