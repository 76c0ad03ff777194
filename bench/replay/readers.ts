import type { Reader } from './reader.ts'

/**
 * The readers by their names in the results table; the others are compared with the first. Each is imported only when
 * it runs: kafkajs alone must not have the corrections that the others load.
 */
export const READERS = {
  'kafkajs alone, doing nothing': async () => (await import('./readers/kafkajs-alone.ts')).readByKafkajsAlone,
  'decoded by the follower': async () => (await import('./readers/decoded.ts')).readDecoded,
  'replayed into Redis': async () => (await import('./readers/projected.ts')).readIntoRedis,
  'rebuilt: filled, verified, switched to': async () => (await import('./readers/rebuilt.ts')).readByRebuild,
} satisfies Record<string, () => Promise<Reader>>

export type ReaderName = keyof typeof READERS
