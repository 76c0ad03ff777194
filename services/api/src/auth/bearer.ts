import type { IncomingMessage } from 'node:http'
import type { Scope } from '@plant-store/shared/access/scope.ts'
import { HttpError } from '../http/errors.ts'
import { repeatedAmong } from '../http/request-head.ts'

const AUTHORIZATION = new Set(['authorization'])
const CHALLENGE = 'Bearer realm="plants"'
/** Node takes 16 KiB of headers altogether. */
const MAX_TOKEN_CHARACTERS = 8_192

// RFC 9110 11.2: the scheme's name has no case, a token68 follows after at least one space.
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i
const BEARER_WITH_SOMETHING = /^Bearer[ \t]+[^ \t]/i

/**
 * The bearer token of a request. It is taken from the Authorization header only: a token in a query or a form (RFC 6750,
 * 2.2 and 2.3) ends up in logs and histories. Throws an HttpError with the challenge of RFC 6750: no error
 * code when no bearer token was sent.
 */
export function bearerTokenOf(request: IncomingMessage): string {
  // Node would take the first and say nothing of the others.
  if (repeatedAmong(request, AUTHORIZATION) !== undefined) {
    throw new HttpError('malformedRequest', 'there is more than one Authorization header', {
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
  return new HttpError('invalidToken', 'the bearer token has expired', {
    'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="the token has expired"`,
  })
}

export function insufficientScope(needed: Scope): HttpError {
  return new HttpError('insufficientScope', `the bearer token does not have the scope ${needed}`, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${needed}"`,
  })
}
