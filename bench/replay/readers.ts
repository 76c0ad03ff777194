/** The topic that a reader reads, and the read model that it fills. `fetchLimits` are the same for all readers. */
export type Reading = {
  kafkaBrokers: string
  redisUrl: string
  topic: string
  partitions: number
  events: number
  fetchLimits: Record<string, number>
}

/** Calls `onStart` when it has its partitions, and `count` for the records that it has processed. */
type Progress = { onStart(): void; count(records: number): void; fail(error: Error): void }

/** Reads the whole topic. Resolves with the function that closes it. */
export type Reader = (reading: Reading, progress: Progress) => Promise<() => Promise<void>>

/** The others are compared with the first. */
export const READER_NAMES = ['kafkajs-alone', 'decoded', 'replayed', 'rebuilt'] as const
export type ReaderName = (typeof READER_NAMES)[number]
