import { fork } from 'node:child_process'
import { once } from 'node:events'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { API_NODE_OPTIONS } from '../../local/launch/service.mjs'
import { QUIET } from '../own-process.ts'
import type { StoreSettings } from './create.ts'
import type { ServeOrder, Serving, StoreName } from './server.ts'

/** The token that every contender accepts, and the setting that makes it do so. */
export const TOKEN = 'a-token-for-benchmarks'
export const TOKEN_DIGESTS = `bench:${digestOf(TOKEN).toString('hex')}`

const START_TIMEOUT_MS = 30_000
const STOP_GRACE_MS = 3_000

export type AppProcess = { url: string; pid: number; stop(): Promise<void> }

/** Starts the app in front of this store, as a process that ends with this one, with this more in its environment. */
export async function startAppProcess(
  store: StoreName,
  settings: StoreSettings,
  more: Record<string, string> = {},
): Promise<AppProcess> {
  const env = { ...process.env, ...more }
  // With the options that the api has.
  const execArgv = [...QUIET, ...API_NODE_OPTIONS]
  const child = fork(new URL('server.ts', import.meta.url), { stdio: 'inherit', execArgv, env })
  const exited = once(child, 'exit')
  const order: ServeOrder = { store, settings, tokenDigests: TOKEN_DIGESTS }
  child.send(order)
  const limit = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS)
  const message = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  clearTimeout(limit)
  if (message === undefined || child.pid === undefined)
    throw new Error(`the app in front of ${store} ended before it listened; its reason is above`)
  const { url } = message[0] as Serving
  return {
    ...{ url, pid: child.pid },
    async stop() {
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
      if (child.connected) child.disconnect()
      await exited
      clearTimeout(kill)
    },
  }
}
