import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** An answer that stays the same as long as this process runs. */
export type ConstantAnswer = { body: Buffer; type: string; etag: string }

export function constantAnswer(body: Buffer, type: string): ConstantAnswer {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  return { body, type, etag: `"${digest}"` }
}

/** Sends it, or 304 when the client has it already: it may be kept, but has to be asked for each time. */
export function answerConstant(
  { body, type, etag }: ConstantAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  if (isKnown(etag, request.headers['if-none-match'])) return reply.code(304).send()
  return reply.type(type).send(body)
}

// RFC 9110 13.1.2: a list of tags, compared weakly, or any.
function isKnown(etag: string, known = ''): boolean {
  return known.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
