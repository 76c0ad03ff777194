import { timingSafeEqual } from 'node:crypto'
import { digestOf, type TokenEntry } from '@plant-store/shared/access/token-entry.ts'
import { expiredToken } from './bearer.ts'
import type { Strategy } from './strategy.ts'

/** The entry of a token, if there is one, in a time that depends on neither the token nor which entry it is. */
export function findToken(entries: readonly TokenEntry[], token: string): TokenEntry | undefined {
  const digest = digestOf(token)
  let found: TokenEntry | undefined
  for (const entry of entries) {
    if (timingSafeEqual(digest, entry.digest)) found = entry
  }
  return found
}

/** Accepts the tokens of these entries, asked for each time. `now` tells milliseconds since 1970. */
export function opaqueTokens(entries: () => readonly TokenEntry[], now: () => number): Strategy {
  return async (token) => {
    const found = findToken(entries(), token)
    if (found === undefined) return undefined
    if (found.expiresAtMs !== undefined && now() >= found.expiresAtMs) throw expiredToken()
    return { caller: found.label, scopes: found.scopes }
  }
}
