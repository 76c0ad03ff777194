import { scopesAmong } from '@plant-store/shared/access/scope.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { HttpError } from '../http/errors.ts'
import { expiredToken, invalidToken } from './bearer.ts'
import { KeysUnavailable } from './key-set.ts'
import type { Access, Strategy } from './strategy.ts'

/** Signatures with a key pair: with a shared secret whoever may check a token could make one, too. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
const MAX_SUBJECT_CHARACTERS = 255
const THREE_PARTS = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** What jose throws for a token that is at fault. All else is a fault of the keys. */
const FAULTS_OF_THE_TOKEN = [
  ...[errors.JWSInvalid, errors.JWTInvalid, errors.JWTClaimValidationFailed, errors.JOSEAlgNotAllowed],
  ...[errors.JOSENotSupported, errors.JWSSignatureVerificationFailed],
  ...[errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys],
]

export type JwtOptions = {
  issuer: string
  audience: string
  clockToleranceSeconds: number
  keyOf: JWTVerifyGetKey
  /** Milliseconds since 1970. */
  now: () => number
  log: Log
}

/**
 * Accepts JWTs (RFC 7519) of one issuer for one audience that have `exp` and `sub`; their scopes are those of the claim
 * `scope` (RFC 8693, 4.2). What is no JWT of this issuer costs no key. Throws tokensUncheckable when the keys are
 * not at hand.
 */
export function jwts({ issuer, audience, clockToleranceSeconds, keyOf, now, log }: JwtOptions): Strategy {
  let reported = ''
  return async (token) => {
    if (!THREE_PARTS.test(token) || issuerOf(token) !== issuer) return undefined
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        ...{ issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp', 'sub'] },
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(now()),
      })
      return accessOf(payload, issuer)
    } catch (error) {
      throw preconditionErrorOf(error as Error)
    }
  }

  function preconditionErrorOf(error: Error): HttpError {
    if (error instanceof HttpError) return error
    if (error instanceof errors.JWTExpired) return expiredToken()
    // Never the error itself: it carries what the token says.
    const { name, code, claim } = error as { name: string; code?: string; claim?: string }
    if (FAULTS_OF_THE_TOKEN.some((fault) => error instanceof fault)) {
      log.debug({ code, claim }, 'a JWT was refused')
      return invalidToken()
    }
    if (!(error instanceof KeysUnavailable) && reported !== name) {
      log.error({ name, code }, 'a key that signs JWTs can not be used')
      reported = name
    }
    return new HttpError('tokensUncheckable')
  }
}

/** What it says itself, not proven. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function accessOf({ sub, scope }: JWTPayload, issuer: string): Access {
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_CHARACTERS) throw invalidToken()
  return {
    // With the issuer: what another one calls the same is another caller.
    caller: `jwt:${JSON.stringify([issuer, sub])}`,
    scopes: typeof scope === 'string' ? scopesAmong(scope.split(' ')) : [],
  }
}
