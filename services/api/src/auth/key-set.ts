import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

/** The keys that sign JWTs are not at hand: whether a token is valid can't be told now. */
export class KeysUnavailable extends Error {
  override name = 'KeysUnavailable'
}

const LIMITS = {
  /** Keys are fetched this often whoever calls, so that one that was withdrawn is not accepted much longer. */
  refreshEveryMs: 300_000,
  /** While they can't be fetched, those fetched last serve for so long. */
  maxAgeMs: 6 * 3_600_000,
  /** A token that names an unknown key has them fetched again, but not sooner than this after the last time. */
  coolDownMs: 10_000,
  /** After a fetch that failed none is made for so long. */
  failureCoolDownMs: 1_000,
  timeoutMs: 3_000,
  maxBytes: 262_144,
}
export type KeySetLimits = typeof LIMITS

export type KeySet = {
  /** The key that a token names. Throws KeysUnavailable, or an error of jose when there is no such key. */
  keyOf: JWTVerifyGetKey
  close(): Promise<void>
}

type Options = { log: Log; time: Time; limits?: Partial<KeySetLimits> }

/** The keys at a JWKS URL (RFC 7517, 5), fetched at once and kept up to date. */
export function openKeySet(url: string, { log, time, limits: given }: Options): KeySet {
  const limits = { ...LIMITS, ...given }
  const { refreshEveryMs, maxAgeMs, coolDownMs, failureCoolDownMs, timeoutMs, maxBytes } = limits
  const closing = new AbortController()
  let failedAt = -Infinity
  let said = ''

  // jose calls it again for each token as long as it fails, and reads answers of any size.
  async function fetchKeys(address: string, options: { signal: AbortSignal }): Promise<Response> {
    if (time.now() - failedAt < failureCoolDownMs) throw new KeysUnavailable(said)
    try {
      const signal = AbortSignal.any([options.signal, closing.signal])
      const keys = await readKeys(await fetch(address, { ...options, signal }), maxBytes)
      if (said !== '') log.info('the keys that sign JWTs can be fetched again')
      said = ''
      return Response.json(keys)
    } catch (error) {
      failedAt = time.now()
      const message = `the keys that sign JWTs can't be fetched from JWT_JWKS_URL: ${reasonOf(error as Error)}`
      if (message !== said && !closing.signal.aborted) log.error(message)
      said = message
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
  // What fails has been logged, and the next request or refresh tries again.
  const first = fetchNow().catch(() => undefined)
  const refreshing = repeat({
    ...{ time, everyMs: refreshEveryMs, what: 'fetching the keys that sign JWTs', log },
    task: fetchNow,
    onHalt() {},
  })
  return {
    keyOf: keys,
    async close() {
      closing.abort()
      await Promise.all([first, refreshing.close()])
    },
  }
}

/** Throws when they are none; jose would only find out later, and try again at once. */
async function readKeys(response: Response, maxBytes: number): Promise<object> {
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new KeysUnavailable(`the answer was ${response.status}`)
  }
  const text = await readText(response, maxBytes)
  try {
    const keys = JSON.parse(text)
    createLocalJWKSet(keys)
    return keys
  } catch {
    throw new KeysUnavailable('the answer is no JWKS')
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) throw new KeysUnavailable(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** In words of ours or a code: what others say may quote the answer. */
function reasonOf(error: Error): string {
  if (error instanceof KeysUnavailable) return error.message
  if (error.name === 'TimeoutError') return 'no answer in time'
  const { code } = (error.cause ?? error) as { code?: unknown }
  return typeof code === 'string' ? code : 'no connection'
}
