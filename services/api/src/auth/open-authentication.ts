import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import type { ApiSettings } from '../settings.ts'
import { jwtIssuerOf, openJwts } from './jwt.ts'
import { openOpaqueTokens } from './opaque-tokens.ts'
import type { Strategy } from './require-access.ts'

export type Authentication = Awaited<ReturnType<typeof openAuthentication>>

/** Opens what is configured, the cheapest first. Throws a PreconditionError for nothing, or an incomplete one. */
export async function openAuthentication(settings: Partial<ApiSettings>, log: Log) {
  // Checked before anything is opened.
  const issuer = jwtIssuerOf(settings)
  const tokens = await openOpaqueTokens(settings, log)
  const authenticators = [tokens, issuer && openJwts(issuer, log)].filter((opened) => opened !== undefined)
  if (authenticators.length === 0) {
    throw new PreconditionError(
      'settings: no tokens are configured: set PLANT_STORE_TOKEN_DIGESTS or PLANT_STORE_TOKEN_DIGESTS_FILE, ' +
        'or JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL (see docs/how-to/authenticate.md)',
    )
  }
  return {
    strategy: firstOf(authenticators.map(({ strategy }) => strategy)),
    /** When the token file was read last, in seconds since 1970; undefined without a file. */
    tokensReadAt: (): number | undefined => tokens?.readAt(),
    /** The reasons for which entries or keys are not renewed, for an operator. */
    problems: (): string[] => authenticators.flatMap(({ problems }) => problems()),
    async close(): Promise<void> {
      await Promise.all(authenticators.map((authenticator) => authenticator.close()))
    },
  }
}

/** Asks one after the other. The rejection by a strategy that knows the token is final. */
function firstOf(strategies: readonly Strategy[]): Strategy {
  return async (token) => {
    for (const strategy of strategies) {
      const access = await strategy(token)
      if (access !== undefined) return access
    }
    return undefined
  }
}
