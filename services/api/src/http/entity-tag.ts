import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

/** 128 bits of the hash. */
const TAG_CHARACTERS = 22

/** A strong entity tag: other bytes have another tag. */
export function entityTagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** Responds to GET and HEAD: with 304 if the client has the body of this tag, else with the body. */
export function sendTagged(reply: FastifyReply, tag: string, type: string, body: string | Buffer): FastifyReply {
  const { method, headers } = reply.request
  reply.header('etag', tag).type(type)
  if (!isKnown(tag, headers['if-none-match'])) return reply.send(body)
  // A 304 has the length of the body or none (RFC 9110 8.6); without a body, Fastify gives a response to HEAD 0.
  return reply.code(304).send(method === 'HEAD' ? body : undefined)
}

/** True if an If-None-Match header names this tag: any, or a list of tags, compared weakly (RFC 9110 13.1.2). */
function isKnown(tag: string, ifNoneMatch = ''): boolean {
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((known) => known.trim().replace(/^W\//, '') === tag)
}
