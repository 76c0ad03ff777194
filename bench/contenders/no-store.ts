import type { Contender } from '../contender.ts'
import { startAppProcess, TOKEN } from './app-process.ts'

export const noStore: Contender = {
  name: 'the same app, no store',
  promise: 'nothing: it is forgotten',
  async start() {
    const app = await startAppProcess('no-store', {})
    return {
      ...{ url: app.url, token: TOKEN, processes: new Map([['api', app.pid]]) },
      missing: async () => undefined,
      stop: app.stop,
    }
  },
}
