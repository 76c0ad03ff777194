/** Where time comes from: the system, or a simulation of it. What decides takes it as an input. */
export type Time = {
  /** Milliseconds; they only go up. */
  now(): number
  /** Calls back once, after so long. Returns what takes that back. */
  after(ms: number, callback: () => void): () => void
}

export const systemTime: Time = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after so long, or as soon as `signal` is aborted. */
export function delay(time: Time, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      takeBack()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const takeBack = time.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
  })
}
