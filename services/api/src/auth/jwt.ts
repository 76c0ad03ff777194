import { scopesAmong } from '@plant-store/shared/access/scope.ts'
import { PreconditionError, resultOf } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { HttpError } from '../http/errors.ts'
import type { ApiSettings } from '../settings.ts'
import { KeysUnavailable, openKeySet } from './key-set.ts'
import { type Access, expiredToken, invalidToken, type Strategy } from './require-access.ts'

/** Asymmetric signatures only: with a shared secret, anyone who can check a token could also create one. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')
const MAX_SUBJECT_CHARACTERS = 255
/** For `exp` and `nbf`: the clocks of issuer and api, both kept by NTP, differ by less. */
const CLOCK_TOLERANCE_SECONDS = 5
const THREE_PARTS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** The errors of jose for an invalid token. All others are faults of the keys. */
const TOKEN_ERRORS = [
  errors.JWSInvalid,
  errors.JWTInvalid,
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWSSignatureVerificationFailed,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
]

type JwtIssuer = { issuer: string; audience: string; url: string }

export type JwtOptions = Omit<JwtIssuer, 'url'> & {
  keyOf: JWTVerifyGetKey
  /** Milliseconds since 1970. */
  now: () => number
  log: Log
}

/**
 * Accepts JWTs (RFC 7519) of one issuer for one audience that have `exp` and `sub`; their scopes come from the claim
 * `scope` (RFC 8693, 4.2). A token that is not a JWT of this issuer needs no key. Throws tokensUncheckable while the
 * keys are not available.
 */
export function jwts({ issuer, audience, keyOf, now, log }: JwtOptions): Strategy {
  let reported = ''
  return async (token) => {
    if (!THREE_PARTS.test(token)) return undefined
    // The issuer that the unchecked token claims.
    if (resultOf(() => decodeJwt(token).iss) !== issuer) {
      log.debug({ code: errors.JWTClaimValidationFailed.code, claim: 'iss' }, 'rejected a JWT')
      return undefined
    }
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now()),
      })
      return accessOf(payload, issuer)
    } catch (error) {
      throw httpErrorOf(error as Error)
    }
  }

  function httpErrorOf(error: Error): HttpError {
    // The error itself is never logged: it carries the contents of the token.
    const { name, code, claim } = error as { name: string; code?: string; claim?: string }
    if (TOKEN_ERRORS.some((type) => error instanceof type)) {
      log.debug({ code, claim }, 'rejected a JWT')
      return error instanceof errors.JWTExpired ? expiredToken() : invalidToken()
    }
    if (!(error instanceof KeysUnavailable) && reported !== name) {
      log.error({ name, code }, 'a key of JWT_JWKS_URL cannot be used to check JWTs')
      reported = name
    }
    return new HttpError('tokensUncheckable')
  }
}

/** The issuer of accepted JWTs; undefined when none is set. Throws a PreconditionError for incomplete settings. */
export function jwtIssuerOf(settings: Partial<ApiSettings>): JwtIssuer | undefined {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: url } = settings
  if (issuer === undefined && audience === undefined && url === undefined) return undefined
  if (issuer === undefined || audience === undefined || url === undefined) {
    throw new PreconditionError('settings: set all of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL, or none')
  }
  return { issuer, audience, url }
}

export function openJwts({ url, ...accepted }: JwtIssuer, log: Log) {
  const { keyOf, ...keys } = openKeySet(url, log)
  return { ...keys, strategy: jwts({ ...accepted, keyOf, now: Date.now, log }) }
}

function accessOf(payload: JWTPayload, issuer: string): Access {
  const { sub, scope } = payload
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_CHARACTERS)
    throw new errors.JWTClaimValidationFailed('unexpected subject', payload, 'sub')
  return {
    // The issuer is included: the same subject of another issuer is another caller.
    caller: `jwt:${JSON.stringify([issuer, sub])}`,
    scopes: typeof scope === 'string' ? scopesAmong(scope.split(' ')) : [],
  }
}
