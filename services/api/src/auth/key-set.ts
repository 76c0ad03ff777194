import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

/** The keys that sign JWTs are not available: tokens cannot be checked now. */
export class KeysUnavailable extends Error {
  override name = 'KeysUnavailable'
}

const LIMITS = {
  /** The keys are fetched at this interval, so that a withdrawn key is soon no longer accepted. */
  refreshEveryMs: 300_000,
  /** While a fetch fails, the keys fetched last are used up to this age. */
  maxAgeMs: 6 * 3_600_000,
  /** A token that names an unknown key causes a fetch, but not sooner than this after the last one. */
  coolDownMs: 10_000,
  /** No fetch is made for this time after a failed one. */
  failureCoolDownMs: 1_000,
  timeoutMs: 3_000,
  maxBytes: 262_144,
}
export type KeySetLimits = typeof LIMITS

/** The keys at a JWKS URL (RFC 7517, 5): fetched at once, then periodically. */
export function openKeySet(url: string, log: Log, limits?: Partial<KeySetLimits>) {
  const { refreshEveryMs, maxAgeMs, coolDownMs, failureCoolDownMs, timeoutMs, maxBytes } = { ...LIMITS, ...limits }
  const closing = new AbortController()
  let failedAt = -Infinity
  let lastError = ''

  // While it fails, jose calls it for each token; jose's own reader accepts responses of any size.
  async function fetchKeys(address: string, options: { signal: AbortSignal }): Promise<Response> {
    if (systemTime.now() - failedAt < failureCoolDownMs) throw new KeysUnavailable(lastError)
    try {
      const signal = AbortSignal.any([options.signal, closing.signal])
      const keys = await readKeys(await fetch(address, { ...options, signal }), maxBytes)
      if (lastError !== '') log.info('fetching the JWT keys works again')
      lastError = ''
      return Response.json(keys)
    } catch (error) {
      failedAt = systemTime.now()
      const message = `cannot fetch the JWT keys from JWT_JWKS_URL: ${reasonOf(error as Error)}`
      if (message !== lastError && !closing.signal.aborted) log.error(message)
      lastError = message
      throw new KeysUnavailable(message)
    }
  }

  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: timeoutMs,
    cooldownDuration: coolDownMs,
    cacheMaxAge: maxAgeMs,
    [customFetch]: fetchKeys,
  })
  const fetchNow = () => keys.reload()
  // fetchKeys logs a failure, and the next request or refresh tries again.
  const first = fetchNow().catch(() => undefined)
  const refreshing = repeat({
    time: systemTime,
    everyMs: refreshEveryMs,
    what: 'fetching the JWT keys',
    log,
    task: fetchNow,
    onHalt() {},
  })
  return {
    /** The key that a token names. Throws KeysUnavailable, or an error of jose for an unknown key. */
    keyOf: keys as JWTVerifyGetKey,
    /** The reason of the last fetch's failure; empty when it succeeded. */
    problems: (): string[] => (lastError === '' ? [] : [lastError]),
    async close() {
      closing.abort()
      await Promise.all([first, refreshing.close()])
    },
  }
}

/** Throws for an invalid key set; jose would notice only later, and fetch again at once. */
async function readKeys(response: Response, maxBytes: number): Promise<object> {
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new KeysUnavailable(`the response had status ${response.status}`)
  }
  const text = await readText(response, maxBytes)
  try {
    const keys = JSON.parse(text)
    createLocalJWKSet(keys)
    return keys
  } catch {
    throw new KeysUnavailable('the response is not a JWKS')
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw new KeysUnavailable(`the response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The reason of a failed fetch, as a code or our own text: another error's message may quote the response. */
function reasonOf(error: Error): string {
  if (error instanceof KeysUnavailable) return error.message
  if (error.name === 'TimeoutError') return 'the request timed out'
  const { code } = (error.cause ?? error) as { code?: unknown }
  return typeof code === 'string' ? code : 'no connection'
}
