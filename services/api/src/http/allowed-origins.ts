import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from '../openapi/headers.ts'
import { headErrorOf } from './request-head.ts'

/** Chromium keeps the result of a preflight no longer, other browsers up to a day. */
const PREFLIGHT_KEPT_SECONDS = 7_200

const OPTIONS = {
  methods: ['GET', 'HEAD', 'POST'],
  allowedHeaders: ['Authorization', 'Content-Type', ...Object.keys(REQUEST_HEADERS), 'tracestate'],
  exposedHeaders: [...Object.keys(RESPONSE_HEADERS), 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  maxAge: PREFLIGHT_KEPT_SECONDS,
}

/** True if `text` is an http(s) origin as browsers send it, without a wildcard. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && !text.includes('*') && /^https?:$/.test(url.protocol) && url.origin === text
}

/**
 * Lets the pages of these origins call the service from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Called before any hook that may respond, so that pages can read failures, too. Preflights are answered here, without
 * a token.
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  await app.register(cors, {
    delegator: (request, decide) => {
      decide(null, { ...OPTIONS, origin: [...origins], preflight: isPreflight(request) })
    },
  })
}

/** Any other OPTIONS, and a malformed head, get the responses that they have without CORS. */
function isPreflight({ method, headers, raw }: FastifyRequest): boolean {
  if (method !== 'OPTIONS' || headers.origin === undefined) return false
  return headers['access-control-request-method'] !== undefined && headErrorOf(raw) === undefined
}
