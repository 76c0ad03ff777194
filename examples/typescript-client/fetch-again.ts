const GIVE_UP_AFTER_MS = 120_000
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000

/**
 * fetch, again while the connection breaks, or the service is overloaded or stopping: a read, and a create with an
 * Idempotency-Key. Resolves to the last response, or rejects with the last error, after two minutes.
 */
export async function fetchAgain(request: Request): Promise<Response> {
  const mayRepeat = request.method === 'GET' || request.headers.has('idempotency-key')
  const end = Date.now() + GIVE_UP_AFTER_MS
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    const isLast = !mayRepeat || Date.now() + waitMs > end
    const response = await fetch(request.clone()).catch((error: unknown) => {
      if (isLast) throw error
      return undefined
    })
    if (response !== undefined && (isLast || ![429, 503].includes(response.status))) return response
    const retryAfterMs = 1_000 * Number(response?.headers.get('retry-after') ?? 0)
    await new Promise((resolve) => setTimeout(resolve, Math.max(waitMs, retryAfterMs)))
  }
}
