import { parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { jwts } from './jwt.ts'
import { openKeySet } from './key-set.ts'
import { opaqueTokens } from './opaque-tokens.ts'
import { openTokens } from './open-tokens.ts'
import type { Strategy } from './strategy.ts'

export type AuthenticationSettings = {
  PLANT_STORE_TOKEN_DIGESTS?: string
  PLANT_STORE_TOKEN_DIGESTS_FILE?: string
  JWT_ISSUER?: string
  JWT_AUDIENCE?: string
  JWT_JWKS_URL?: string
  JWT_CLOCK_TOLERANCE_SECONDS: number
}

export type Authentication = { strategies: readonly Strategy[]; close(): Promise<void> }

type Way = { strategy: Strategy; close(): Promise<void> }

/**
 * The ways of authenticating that are configured, the cheapest first. Throws a PreconditionError when there is none, or
 * one by halves.
 */
export async function openAuthentication(
  settings: AuthenticationSettings,
  log: Log,
  now: () => number = Date.now,
): Promise<Authentication> {
  const jwt = jwtSettingsOf(settings)
  const ways = [await openOpaqueTokens(settings, log, now), jwt && openJwts(jwt, settings, log, now)].filter(
    (way) => way !== undefined,
  )
  if (ways.length === 0) {
    throw new PreconditionError(
      'settings: the api needs to know which tokens to accept: set PLANT_STORE_TOKEN_DIGESTS or ' +
        'PLANT_STORE_TOKEN_DIGESTS_FILE, or JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL (see docs/how-to/authenticate.md)',
    )
  }
  return {
    strategies: ways.map(({ strategy }) => strategy),
    async close() {
      await Promise.all(ways.map((way) => way.close()))
    },
  }
}

async function openOpaqueTokens(
  { PLANT_STORE_TOKEN_DIGESTS: text, PLANT_STORE_TOKEN_DIGESTS_FILE: file }: AuthenticationSettings,
  log: Log,
  now: () => number,
): Promise<Way | undefined> {
  if (text !== undefined && file !== undefined) {
    throw new PreconditionError(
      'settings: set either PLANT_STORE_TOKEN_DIGESTS or PLANT_STORE_TOKEN_DIGESTS_FILE, not both',
    )
  }
  if (text !== undefined) {
    const entries = parseTokenEntries(text, 'PLANT_STORE_TOKEN_DIGESTS')
    return { strategy: opaqueTokens(() => entries, now), async close() {} }
  }
  if (file === undefined) return undefined
  const tokens = await openTokens(file, log)
  return { strategy: opaqueTokens(tokens.entries, now), close: tokens.close }
}

type JwtSettings = { issuer: string; audience: string; url: string }

function jwtSettingsOf(settings: AuthenticationSettings): JwtSettings | undefined {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: url } = settings
  if (issuer !== undefined && audience !== undefined && url !== undefined) return { issuer, audience, url }
  if (issuer === undefined && audience === undefined && url === undefined) return undefined
  throw new PreconditionError('settings: set all of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL, or none')
}

function openJwts(
  { issuer, audience, url }: JwtSettings,
  { JWT_CLOCK_TOLERANCE_SECONDS: clockToleranceSeconds }: AuthenticationSettings,
  log: Log,
  now: () => number,
): Way {
  const { keyOf, close } = openKeySet(url, { log, time: systemTime })
  return { strategy: jwts({ issuer, audience, clockToleranceSeconds, keyOf, now, log }), close }
}
