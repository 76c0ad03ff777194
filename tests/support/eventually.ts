import { vi } from 'vitest'

/** Less than any test may take: a test that fails here says what it waited for. */
const WITHIN_MS = 58_000

/** Repeats an expectation each 50 ms until it holds, and fails after 58 s: a busy machine may take its time. */
export const eventually = <T>(expectation: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(expectation, { timeout: WITHIN_MS })
