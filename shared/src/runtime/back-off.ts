/** Waits that get longer with each failure. */
export type BackOff = {
  /** How long to wait after one more failure: twice as long as after the one before, up to a limit. */
  nextMs(): number
  /** After a success the next failure is the first one again. */
  reset(): void
}

export function createBackOff({ firstMs, longestMs }: { firstMs: number; longestMs: number }): BackOff {
  let waitMs = firstMs
  return {
    nextMs() {
      const ms = waitMs
      waitMs = Math.min(2 * waitMs, longestMs)
      return ms
    },
    reset() {
      waitMs = firstMs
    },
  }
}
