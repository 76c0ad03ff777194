/** Calls `make` once for all callers that come while its promise is pending; they share the result. */
export function singleFlight<T>(make: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | undefined
  return () => {
    inFlight ??= make().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
