/** Whether a service is ready; with `listening`, whether its operations port responds. */
export const isReady = (opsUrl: string, started: 'ready' | 'listening' = 'ready'): Promise<boolean> =>
  fetch(`${opsUrl}/readyz`).then(
    ({ ok }) => ok || started === 'listening',
    () => false,
  )
