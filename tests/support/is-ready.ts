const RESPONDS_WITHIN_MS = 10_000

/** The response of a service about its readiness. Rejects without one within 10 s. */
export const readyz = (opsUrl: string): Promise<Response> =>
  fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(RESPONDS_WITHIN_MS) })

/** True if a service is ready; with `listening`, if its operations port responds. */
export const isReady = (opsUrl: string, started: 'ready' | 'listening' = 'ready'): Promise<boolean> =>
  readyz(opsUrl).then(
    ({ ok }) => ok || started === 'listening',
    () => false,
  )
