import type { Time } from '../process/time.ts'

export type FetchPauseOptions = { aboveRecords: number; ms: number }

/**
 * How long to wait before the next fetch: when more than `aboveRecords` records came within `ms`, until these are over.
 * While many write, each fetch then brings more of them, and a fetch costs as much as a hundred records; who has few waits
 * for nothing.
 */
export function createFetchPause({ aboveRecords, ms }: FetchPauseOptions, time: Pick<Time, 'now'>) {
  let since = Number.NEGATIVE_INFINITY
  let records = 0

  return {
    took(count: number): void {
      const now = time.now()
      if (now - since >= ms) {
        since = now
        records = 0
      }
      records += count
    },

    leftMs: (): number => (records > aboveRecords ? Math.max(0, since + ms - time.now()) : 0),
  }
}
