import { vi } from 'vitest'

const WITHIN_MS = 30_000

/** Repeats an expectation until it holds, and fails after 30 s: a busy machine may take its time. */
export const eventually = <T>(expectation: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(expectation, { timeout: WITHIN_MS, interval: 20 })
