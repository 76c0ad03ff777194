import { join } from 'node:path'
import { runCommand } from '../../local/processes/command.ts'
import { freePort } from '../../local/processes/port.ts'
import { startProcess, untilReady } from '../../local/processes/process.ts'
import { ensureBuilt } from '../../local/toolchain/go.ts'

const TOXIPROXY = { source: 'github.com/Shopify/toxiproxy/v2/cmd/server', version: 'v2.12.0', program: 'server' }
const START_TIMEOUT_MS = 30_000
const INSTALLED = 'toxiproxy-server'

export type Toxic = { type: 'latency' | 'timeout' | 'reset_peer'; attributes: Record<string, number> }
/** `upstream`: from the client to the server. */
export type Direction = 'upstream' | 'downstream'

/** A TCP connection between two processes, as far as faults can reach it. */
export type Link = Awaited<ReturnType<Toxiproxy['link']>>
export type Toxiproxy = Awaited<ReturnType<typeof startToxiproxy>>

/**
 * Starts toxiproxy (https://github.com/Shopify/toxiproxy) as a process; `link` puts it before a port of this machine.
 */
export async function startToxiproxy(dir: string) {
  const command = await ensureToxiproxy()
  const port = await freePort()
  const args = ['-host', '127.0.0.1', '-port', String(port)]
  const env = { PATH: process.env.PATH, LOG_LEVEL: 'error' }
  const running = await startProcess({ name: 'toxiproxy', command, args, env, logFile: join(dir, 'toxiproxy.log') })
  const isReady = () => call('GET', 'version').then(Boolean, () => false)
  await untilReady(running, { isReady, startTimeoutMs: START_TIMEOUT_MS })

  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`toxiproxy responds to ${method} ${path} with ${response.status}: ${text}`)
    return text && JSON.parse(text)
  }

  return {
    async link(name: string, upstreamPort: number) {
      const listenPort = await freePort()
      const own = { name, listen: `127.0.0.1:${listenPort}`, upstream: `127.0.0.1:${upstreamPort}` }
      await call('POST', 'proxies', { ...own, enabled: true })
      const at = `proxies/${encodeURIComponent(name)}`
      let toxics: string[] = []
      return {
        name,
        port: listenPort,
        async add(toxic: Toxic, directions: readonly Direction[]): Promise<void> {
          for (const stream of directions) {
            const toxicName = `${toxic.type}_${stream}`
            await call('POST', `${at}/toxics`, { ...toxic, name: toxicName, stream })
            toxics.push(toxicName)
          }
        },
        /** Refuses new connections and closes those there are. */
        async refuse(): Promise<void> {
          await call('POST', at, { enabled: false })
        },
        async heal(): Promise<void> {
          for (const toxic of toxics) await call('DELETE', `${at}/toxics/${toxic}`)
          toxics = []
          await call('POST', at, { enabled: true })
        },
      }
    },
  }
}

/** The program that is installed, else one that is built once. Throws a Failure without Go. */
export async function ensureToxiproxy(): Promise<string> {
  const { missing } = await runCommand(INSTALLED, ['-version'], { timeoutMs: START_TIMEOUT_MS })
  return missing ? ensureBuilt(TOXIPROXY) : INSTALLED
}
