import { timingSafeEqual } from 'node:crypto'
import { digestOf, parseTokenEntries, parseTokenFile, type TokenEntry } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { openReloaded } from '@plant-store/shared/runtime/reloaded.ts'
import { loadSettingFile } from '@plant-store/shared/runtime/setting-files.ts'
import type { ApiSettings } from '../settings.ts'
import { expiredToken, type Strategy } from './require-access.ts'

/** The entry of a token, if there is one, in a time that depends neither on the token nor on the entry. */
export function findToken(entries: readonly TokenEntry[], token: string): TokenEntry | undefined {
  const digest = digestOf(token)
  let found: TokenEntry | undefined
  for (const entry of entries) {
    if (timingSafeEqual(digest, entry.digest)) found = entry
  }
  return found
}

/** Accepts the tokens of the current entries. `now` returns milliseconds since 1970. */
export function opaqueTokens(entries: () => readonly TokenEntry[], now: () => number): Strategy {
  return async (token) => {
    const found = findToken(entries(), token)
    if (found === undefined) return undefined
    if (found.expiresAtMs !== undefined && now() >= found.expiresAtMs) throw expiredToken()
    return { caller: found.label, scopes: found.scopes }
  }
}

/** Opens the opaque tokens; undefined when none are set. Throws a PreconditionError for invalid ones. */
export async function openOpaqueTokens(
  { PLANT_STORE_TOKEN_DIGESTS: text, PLANT_STORE_TOKEN_DIGESTS_FILE: file }: Partial<ApiSettings>,
  log: Log,
) {
  if (text !== undefined && file !== undefined) {
    throw new PreconditionError(
      'settings: set either PLANT_STORE_TOKEN_DIGESTS or PLANT_STORE_TOKEN_DIGESTS_FILE, not both',
    )
  }
  if (text !== undefined) {
    const entries = parseTokenEntries(text, 'PLANT_STORE_TOKEN_DIGESTS')
    const strategy = opaqueTokens(() => entries, Date.now)
    return { strategy, readAt: () => undefined, problems: (): string[] => [], async close() {} }
  }
  if (file === undefined) return undefined
  const tokens = await openTokenFile(file, log)
  return { ...tokens, strategy: opaqueTokens(tokens.current, Date.now) }
}

/** The entries of a file, which is read again, so that tokens change without a restart. */
export function openTokenFile(file: string, log: Log, everyMs?: number) {
  const name = 'PLANT_STORE_TOKEN_DIGESTS_FILE'
  const read = async () => parseTokenFile(await loadSettingFile({ [name]: file }, name), `the file ${file}`)
  return openReloaded({ what: 'token file', read, log, everyMs })
}
