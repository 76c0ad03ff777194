import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from './listen.ts'

const KINDS = ['', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const

type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  links?: { spanId: string }[]
  attributes: { key: string }[]
}
/** With the definition of the names of its attributes. */
type CollectedSpan = Span & { service: string; schemaUrl: string | undefined }

type Exported = {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] }
    scopeSpans: { spans: Span[]; schemaUrl?: string }[]
  }[]
}

/** A receiver of OTLP over HTTP with JSON; it ends with the test. With `hangs` it never responds. */
export async function startTraceCollector({ hangs = false } = {}) {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    bodies.push(body)
    if (hangs) return
    for (const { resource, scopeSpans } of (JSON.parse(body) as Exported).resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
      for (const { spans: own, schemaUrl } of scopeSpans)
        spans.push(...own.map((span) => ({ service, schemaUrl, ...span })))
    }
    response.setHeader('content-type', 'application/json').end('{}')
  }

  const server = createServer((request, response) => void receive(request, response))
  const port = await listen(server)
  return {
    spans,
    /** The request bodies, as they were sent. */
    bodies,
    /** The settings by which a process sends its spans here. */
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
  }
}

/** The spans of a trace as a tree, each with the spans that it links to; siblings by name and service. */
export function treeOf(spans: readonly CollectedSpan[], root: string | undefined, depth = 0): string[] {
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans
    .filter(({ parentSpanId }) => parentSpanId === root)
    .sort((a, b) => (`${a.name} ${a.service}` < `${b.name} ${b.service}` ? -1 : 1))
    .flatMap((span) => {
      const links = span.links?.map(({ spanId }) => nameOf.get(spanId)) ?? []
      const linked = links.length === 0 ? '' : `, links to ${links.join(', ')}`
      const line = `${'  '.repeat(depth)}${span.name} (${span.service}, ${KINDS[span.kind]}${linked})`
      return [line, ...treeOf(spans, span.spanId, depth + 1)]
    })
}
