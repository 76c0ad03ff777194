import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpError } from './errors.ts'
import { parseJsonBody } from './json-body.ts'

export type BodyLimits = { maxBytes: number; maxDepth: number }

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i

/**
 * Bodies are JSON in UTF-8, within the limits. They are asked for ("100 Continue") only when nothing that came
 * before them has led to an answer already.
 */
export function readJsonBodies(app: FastifyInstance, { maxBytes, maxDepth }: BodyLimits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseJsonBody(body, maxDepth),
  )

  app.addHook('preParsing', (request, reply, _payload, done) => {
    try {
      refuseUnreadableBody(request, maxBytes)
    } catch (error) {
      return done(error as HttpError)
    }
    // Where it is not asked for, Node ends the connection: nobody would know whether body or request comes next.
    // HTTP/1.0 has no expectations, and would take this for the answer (RFC 9110 10.1.1).
    if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') reply.raw.writeContinue()
    done()
  })
}

/** Throws an HttpError for a body of which the head says already that it can't be read. */
function refuseUnreadableBody({ headers }: FastifyRequest, maxBytes: number): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const message = 'the body has a content-encoding; send it as it is'
    throw new HttpError('unsupportedMediaType', message, { 'accept-encoding': 'identity' })
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    throw new HttpError('unsupportedMediaType', 'JSON is sent in UTF-8 (RFC 8259); leave the charset out')
  if (Number(headers['content-length']) > maxBytes) throw new HttpError('bodyTooLarge')
}
