const GIVE_UP_AFTER_MS = 120_000
/** Has to be longer than CREATE_DEADLINE_MS of the service. */
const TIME_LIMIT_MS = 30_000
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000

/**
 * fetch, again while the connection breaks or is silent, or the service is overloaded or stopping: a read, and a create
 * with an Idempotency-Key. Resolves to the last response, with all of its body, or rejects with the last error. No
 * attempt begins after two minutes.
 */
export async function fetchAgain(request: Request, { timeLimitMs = TIME_LIMIT_MS } = {}): Promise<Response> {
  const mayRepeat = request.method === 'GET' || request.headers.has('idempotency-key')
  const end = Date.now() + GIVE_UP_AFTER_MS
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    const response = await fetchWhole(request, timeLimitMs).catch((error: Error) => error)
    const isFinal = response instanceof Response ? ![429, 503].includes(response.status) : request.signal.aborted
    // A date, which a proxy may send, counts as 0.
    const askedS = response instanceof Response ? Number(response.headers.get('retry-after')) || 0 : 0
    const pauseMs = Math.max(waitMs, 1_000 * askedS)
    if (isFinal || !mayRepeat || Date.now() + pauseMs > end) {
      if (response instanceof Error) throw response
      return response
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Reads the body, too: a connection can also break after the headers. */
async function fetchWhole(request: Request, timeLimitMs: number): Promise<Response> {
  // Node may collect an AbortSignal.timeout, and the signal of a clone, before they abort.
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new Error(`no response within ${timeLimitMs} ms`)), timeLimitMs)
  try {
    const response = await fetch(request.clone(), { signal: AbortSignal.any([request.signal, limit.signal]) })
    return new Response((await response.text()) || null, response)
  } finally {
    clearTimeout(timer)
  }
}
