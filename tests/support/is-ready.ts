/** True if a service is ready; with `listening`, if its operations port responds. */
export const isReady = (opsUrl: string, started: 'ready' | 'listening' = 'ready'): Promise<boolean> =>
  fetch(`${opsUrl}/readyz`).then(
    ({ ok }) => ok || started === 'listening',
    () => false,
  )
