import { ROOT_CONTEXT, type Span, type SpanContext, SpanKind, trace } from '@opentelemetry/api'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { endSpan, messaging, traceparentOf, tracer, withinSendSpan } from '@plant-store/shared/tracing/spans.ts'

/** The steps of a create on its way to the log, in order. */
type Step = 'wait for cycle' | 'look up plants' | 'wait for verdict'

export type CreateSpan = {
  creation: SpanContext
  /** Ends the step before. */
  step(name: Step): void
  /** `failure` names why the create has neither created a plant nor found one. */
  end(failure?: string): void
}

export type CreateTracing = ReturnType<typeof createTracing>

/** The spans of creates. */
export function createTracing(topic: string) {
  return {
    /** Starts the span of an event below that of its request. The event carries its context. */
    start(request: Span, { key, partition, headers }: NewRecord): CreateSpan {
      const { name, attributes } = messaging('create', topic)
      const span = tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, below(request))
      span.setAttributes({
        'messaging.destination.partition.id': String(partition),
        'messaging.kafka.message.key': key.toString('latin1'),
        'messaging.message.id': String(headers.ce_id),
      })
      const creation = span.spanContext()
      headers.traceparent = Buffer.from(traceparentOf(creation), 'latin1')
      let current: Span | undefined
      return {
        creation,
        step(name) {
          current?.end()
          current = tracer.startSpan(name, {}, below(span))
        },
        end(failure) {
          current?.end()
          endSpan(span, failure)
        },
      }
    },

    /** Runs the append of a batch within its span. */
    send<T>(batch: readonly { span?: CreateSpan | undefined }[], append: () => Promise<T>): Promise<T> {
      const creations = batch.flatMap(({ span }) => (span === undefined ? [] : [span.creation]))
      return withinSendSpan({ topic, events: batch.length, creations }, append)
    },
  }
}

const below = (span: Span) => trace.setSpan(ROOT_CONTEXT, span)
