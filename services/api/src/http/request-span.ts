import { propagation, ROOT_CONTEXT, type Span, SpanKind } from '@opentelemetry/api'
import { endSpan, tracer } from '@plant-store/shared/tracing/spans.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from './errors.ts'
import { originForm } from './request-head.ts'
import { clientAddressOf } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | undefined
  }
}

/** Gives each request its span, to the end of its response, in the trace that the request names. */
export function traceRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const span = startSpan(request)
    if (span.isRecording()) {
      request.span = span
      reply.raw.once('close', () => describeEnd(span, reply))
    }
    done()
  })
}

function startSpan(request: FastifyRequest): Span {
  const { method, originalUrl, headers, protocol, raw, routeOptions } = request
  const route = routeOptions.url
  const client = clientAddressOf(request)
  return tracer.startSpan(
    route === undefined ? method : `${method} ${route}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': method,
        'url.scheme': protocol,
        'url.path': originForm(originalUrl).split('?')[0],
        'network.protocol.version': raw.httpVersion,
        ...(client !== undefined && { 'client.address': client }),
        ...(route !== undefined && { 'http.route': route }),
        ...(headers['user-agent'] !== undefined && { 'user_agent.original': headers['user-agent'] }),
      },
    },
    propagation.extract(ROOT_CONTEXT, headers),
  )
}

function describeEnd(span: Span, { raw, statusCode, failure }: FastifyReply): void {
  const isSent = raw.writableFinished
  if (isSent) span.setAttribute('http.response.status_code', statusCode)
  if (failure !== undefined) span.setAttribute('plant_store.error.number', ERRORS[failure][0])
  if (isSent && statusCode >= 500) endSpan(span, String(statusCode))
  else endSpan(span, isSent ? undefined : 'aborted')
}
