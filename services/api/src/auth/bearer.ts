import auth from '@fastify/auth'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpError } from '../http/errors.ts'
import type { Caller, TokenCheck } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication, which comes before every operation. */
    caller: Caller
  }
}

// RFC 9110 11.2: the scheme's name has no case, a token68 follows after at least one space.
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/**
 * Lets only requests with a known bearer token reach the routes of this instance, before their body is
 * read. The challenges are RFC 6750's: no error code when no token was sent.
 */
export async function requireBearer(app: FastifyInstance, callerOf: TokenCheck): Promise<void> {
  await app.register(auth)
  app.decorateRequest('caller', '')
  app.addHook(
    'onRequest',
    app.auth([
      async (request: FastifyRequest) => {
        const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? []
        if (token === undefined) {
          throw new HttpError('missingToken', undefined, { 'www-authenticate': 'Bearer realm="plants"' })
        }
        const caller = callerOf(token)
        if (caller === undefined) {
          const challenge = 'Bearer realm="plants", error="invalid_token"'
          throw new HttpError('invalidToken', undefined, { 'www-authenticate': challenge })
        }
        request.caller = caller
      },
    ]),
  )
}
