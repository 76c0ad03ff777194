/** The source of time: the system, or a simulation of it. Code that decides receives it as an input. */
export type Time = {
  /** Monotonic milliseconds. */
  now(): number
  /** Calls back once, after `ms`; soon if that is negative. Returns a function that cancels the call. */
  after(ms: number, callback: () => void): () => void
}

export const systemTime: Time = {
  now: () => performance.now(),
  after(ms, callback) {
    // Node would warn of a negative time, on stderr.
    const timer = setTimeout(callback, Math.max(0, ms))
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export function delay(time: Time, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = time.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** Resolves when the work is done, or after `ms`. Rejects when the work does before that. */
export async function within(ms: number, work: Promise<unknown>, time = systemTime): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([work, delay(time, ms, timer.signal)])
  } finally {
    timer.abort()
  }
}

/** Resolves as the work does, or rejects with the reason of `signal` when that is aborted from now on. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  // A promise for this call alone: a long-lived one would retain everything that ever raced with it.
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
