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

/** Reads the whole topic, and calls `begun` when it is given its partitions. Resolves with what closes it. */
export type Reader = (reading: Reading, begun: () => void) => Promise<() => Promise<void>>

/** Resolves when so many events were counted. */
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

/**
 * By the names that the table has; the first is what the others are compared with. Each is loaded on its own: kafkajs
 * alone must be without what the others correct in it.
 */
export const READERS = {
  'kafkajs alone, doing nothing': async () => (await import('./readers/kafkajs-alone.ts')).readByKafkajsAlone,
  'decoded by the follower': async () => (await import('./readers/decoded.ts')).readDecoded,
  'replayed into Redis': async () => (await import('./readers/projected.ts')).readIntoRedis,
  'rebuilt: filled, verified, switched to': async () => (await import('./readers/rebuilt.ts')).readByRebuild,
} satisfies Record<string, () => Promise<Reader>>

export type ReaderName = keyof typeof READERS
