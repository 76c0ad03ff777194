/** All who ask while it is being made get the same. */
export function singleFlight<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().finally(() => {
      made = undefined
    })
    return made
  }
}
