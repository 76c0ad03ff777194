import type { IncomingMessage } from 'node:http'
import auth from '@fastify/auth'
import type { Scope } from '@plant-store/shared/access/scope.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpError } from '../http/errors.ts'
import { MAX_TOKEN_CHARACTERS, repeatedHeader } from '../http/request-head.ts'

/**
 * The caller of a request: the label of an opaque token, or issuer and subject of a JWT with the prefix `jwt:`, which
 * no label can have. A caller stays the same when its token is rotated, so that retries still match.
 */
export type Caller = string

export type Access = { caller: Caller; scopes: readonly Scope[] }

/**
 * Finds the access of a token; undefined for a token that it does not know. Throws an HttpError for a token that it
 * knows and rejects, or cannot check at the moment.
 */
export type Strategy = (token: string) => Promise<Access | undefined>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication, before any operation runs; empty on public routes. */
    caller: Caller
    scopes: readonly Scope[] | undefined
  }
  interface FastifyContextConfig {
    /** The scope that a request needs; `public` needs no token. The app does not start with a route without it. */
    scope?: Scope | 'public'
  }
}

const AUTHORIZATION = new Set(['authorization'])
const CHALLENGE = 'Bearer realm="plants"'
// RFC 9110 11.2: the name of the scheme is case-insensitive, a token68 follows after at least one space.
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i
const BEARER_WITH_SOMETHING = /^Bearer[ \t]+[^ \t]/i

/**
 * Requires a token on each route that is added to the app from now on, wherever it is registered: the strategy has to
 * accept it, with the scope that the route declares. The check comes before the body is read.
 */
export async function requireAccess(app: FastifyInstance, strategy: Strategy): Promise<void> {
  await app.register(auth)
  app.decorateRequest('caller', '')
  app.decorateRequest('scopes', undefined)
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.scope === undefined) throw new Error(`${String(method)} ${url} declares no scope in config.scope`)
  })

  async function authenticate(request: FastifyRequest): Promise<void> {
    const access = await strategy(bearerTokenOf(request.raw))
    if (access === undefined) throw invalidToken()
    request.caller = access.caller
    request.scopes = access.scopes
  }

  const check = app.auth([authenticate, authorize], { relation: 'and' })
  app.addHook('onRequest', function (request, reply, done) {
    if (request.routeOptions.config.scope === 'public') done()
    else check.call(this, request, reply, done)
  })
}

async function authorize({ scopes, routeOptions }: FastifyRequest): Promise<void> {
  const needed = routeOptions.config.scope as Scope
  if (!scopes?.includes(needed)) throw insufficientScope(needed)
}

/**
 * The bearer token in the Authorization header. A token in a query or a form (RFC 6750, 2.2 and 2.3) is ignored,
 * because it would end up in logs and histories. Throws an HttpError with the challenge of RFC 6750, without an error
 * code when the request has no bearer token.
 */
function bearerTokenOf(request: IncomingMessage): string {
  // Node would silently take the first.
  if (repeatedHeader(request, AUTHORIZATION) !== undefined) {
    throw new HttpError('malformedRequest', 'the Authorization header occurs more than once', {
      'www-authenticate': `${CHALLENGE}, error="invalid_request"`,
      connection: 'close',
    })
  }
  const header = request.headers.authorization ?? ''
  const [, token] = BEARER.exec(header) ?? []
  if (token !== undefined && token.length <= MAX_TOKEN_CHARACTERS) return token
  if (BEARER_WITH_SOMETHING.test(header)) throw invalidToken()
  throw new HttpError('missingToken', undefined, { 'www-authenticate': CHALLENGE })
}

export function invalidToken(): HttpError {
  return new HttpError('invalidToken', undefined, {
    'www-authenticate': `${CHALLENGE}, error="invalid_token"`,
  })
}

export function expiredToken(): HttpError {
  return new HttpError('invalidToken', 'the bearer token has expired; get a new one', {
    'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="the token has expired"`,
  })
}

function insufficientScope(needed: Scope): HttpError {
  return new HttpError('insufficientScope', `the bearer token lacks the scope ${needed}`, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${needed}"`,
  })
}
