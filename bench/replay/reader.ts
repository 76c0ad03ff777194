/** What a reader reads and where to. */
export type Reading = {
  kafkaBrokers: string
  redisUrl: string
  topic: string
  partitions: number
  events: number
  /** The same for all readers. */
  fetching: { minBytes: number; maxBytes: number; maxBytesPerPartition: number; maxWaitMs: number }
}

/** Reads the whole topic, and calls `onStart` when it has its partitions. Resolves with the function that closes it. */
export type Reader = (reading: Reading, onStart: () => void) => Promise<() => Promise<void>>

/** `all` resolves when `events` events were counted. */
export function countdown(events: number) {
  const all = Promise.withResolvers<void>()
  let counted = 0
  return {
    all: all.promise,
    fail: all.reject,
    count(more: number): void {
      counted += more
      if (counted >= events) all.resolve()
    },
  }
}
