import { timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { digestOf, parseTokenEntries, type TokenEntry } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { type Authenticator, expiredToken, type Strategy } from './require-access.ts'

const RELOAD_EVERY_MS = 5_000

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

export type OpaqueTokenSettings = {
  PLANT_STORE_TOKEN_DIGESTS?: string
  PLANT_STORE_TOKEN_DIGESTS_FILE?: string
}

/** The authenticator of opaque tokens; undefined when none are set. Throws a PreconditionError for invalid ones. */
export async function openOpaqueTokens(
  { PLANT_STORE_TOKEN_DIGESTS: text, PLANT_STORE_TOKEN_DIGESTS_FILE: file }: OpaqueTokenSettings,
  log: Log,
  now: () => number,
): Promise<Authenticator | undefined> {
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
  const tokens = await openTokenFile(file, log)
  return { strategy: opaqueTokens(tokens.entries, now), close: tokens.close }
}

export type TokenFile = { entries(): readonly TokenEntry[]; close(): Promise<void> }

/**
 * The entries of a file, which is read again every 5 s, so that tokens change without a restart. While the file cannot
 * be read or is invalid, the previous entries stay in force. Throws a PreconditionError when the first read fails.
 */
export async function openTokenFile(file: string, log: Log, reloadEveryMs = RELOAD_EVERY_MS): Promise<TokenFile> {
  let entries = await readTokens(file)
  let lastError = ''

  async function reload(): Promise<void> {
    try {
      entries = await readTokens(file)
      lastError = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== lastError) log.error(`${message}; the previous tokens stay valid until this is corrected`)
      lastError = message
    }
  }

  const reloading = repeat({
    time: systemTime,
    everyMs: reloadEveryMs,
    what: 'reading the token file',
    log,
    task: reload,
    onHalt() {},
  })
  return { entries: () => entries, close: reloading.close }
}

async function readTokens(file: string): Promise<TokenEntry[]> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new PreconditionError(`settings: PLANT_STORE_TOKEN_DIGESTS_FILE cannot be read: ${cause.message}`)
  })
  return parseTokenEntries(text, `the file ${file}`)
}
