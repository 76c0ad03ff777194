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
    const response = await fetch(request.clone()).catch((error: Error) => error)
    const isFinal = response instanceof Response && ![429, 503].includes(response.status)
    const pauseMs = Math.max(waitMs, retryAfterMs(response))
    if (isFinal || !mayRepeat || Date.now() + pauseMs > end) {
      if (response instanceof Error) throw response
      return response
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** The wait that a response asks for. A date, which a proxy may send, counts as 0. */
function retryAfterMs(response: Response | Error): number {
  return response instanceof Error ? 0 : 1_000 * (Number(response.headers.get('retry-after')) || 0)
}

/** The failure that a response reports; one of a proxy may have no body. */
export const failureOf = (error: { message: string } | undefined, response: Response | undefined) =>
  new Error(error?.message || `the response has status ${response?.status}`)
