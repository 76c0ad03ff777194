/** Lines of one kind are logged at this interval, at most. */
const EVERY_MS = 10_000

/**
 * A limit for log lines that a client or a library can cause at any rate. To be called for each line: returns the
 * number of those left out before it, or undefined when this one must be left out, too.
 */
export function createLineLimit(now = () => performance.now()): () => number | undefined {
  let nextAt = Number.NEGATIVE_INFINITY
  let leftOut = 0
  return () => {
    if (now() < nextAt) {
      leftOut++
      return undefined
    }
    nextAt = now() + EVERY_MS
    const before = leftOut
    leftOut = 0
    return before
  }
}
