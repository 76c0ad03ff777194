import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** 128 bits of the hash. */
const TAG_CHARACTERS = 22
/** A larger file is written as the client reads it: with TLS, each connection would keep all of it, encrypted. */
const WHOLE_MAX_BYTES = 16_384

/** A strong entity tag: other bytes have another tag. */
export function entityTagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** Responds to GET and HEAD: with 304 if the client has the body of this tag, else with the body. */
export function sendTagged(reply: FastifyReply, tag: string, type: string, body: string | Buffer): FastifyReply {
  const { method, headers } = reply.request
  reply.header('etag', tag).type(type)
  // A 304 has the length of the body or none (RFC 9110 8.6); without a body, Fastify gives a response to HEAD 0.
  if (isKnown(tag, headers['if-none-match'])) return reply.code(304).send(method === 'HEAD' ? body : undefined)
  if (body.length <= WHOLE_MAX_BYTES || typeof body === 'string') return reply.send(body)
  return reply.header('content-length', body.length).send(Readable.from(chunksOf(body)))
}

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += WHOLE_MAX_BYTES) yield body.subarray(at, at + WHOLE_MAX_BYTES)
}

/** True if an If-None-Match header names this tag: any, or a list of tags, compared weakly (RFC 9110 13.1.2). */
function isKnown(tag: string, ifNoneMatch = ''): boolean {
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((known) => known.trim().replace(/^W\//, '') === tag)
}
