import { vi } from 'vitest'

/** Time passes only when the test says so, until the function that it returns is called. */
export function fakeTimers(options?: Parameters<typeof vi.useFakeTimers>[0]): () => void {
  vi.useFakeTimers(options)
  return () => void vi.useRealTimers()
}
