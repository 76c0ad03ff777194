const RESPONDS_WITHIN_MS = 10_000

/** True if a service is ready; with `listening`, if its operations port responds. */
export const isReady = (opsUrl: string, started: 'ready' | 'listening' = 'ready'): Promise<boolean> =>
  fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(RESPONDS_WITHIN_MS) }).then(
    ({ ok }) => ok || started === 'listening',
    () => false,
  )
