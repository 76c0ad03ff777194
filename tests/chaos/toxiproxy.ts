import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheDir } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.mjs'
import { Failure } from '../../local/processes/failure.mjs'
import { withLock } from '../../local/processes/lock.mjs'
import { freePort } from '../../local/processes/port.mjs'
import { type RunningProcess, startProcess, untilReady } from '../../local/processes/process.mjs'

const VERSION = '2.12.0'
const INSTALL_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 30_000
const INSTALLED = 'toxiproxy-server'
const BUILT = join(cacheDir, `toxiproxy-${VERSION}`, 'server')

export type Toxic =
  | { type: 'latency'; attributes: { latency: number; jitter: number } }
  | { type: 'timeout'; attributes: { timeout: number } }
  | { type: 'reset_peer'; attributes: { timeout: number } }
/** `upstream`: from the client to the server. */
export type Direction = 'upstream' | 'downstream'

/** A TCP connection between two processes, as far as faults can reach it. */
export type Link = {
  name: string
  port: number
  add(toxic: Toxic, directions: readonly Direction[]): Promise<void>
  /** Refuses new connections and closes those there are. */
  refuse(): Promise<void>
  heal(): Promise<void>
}

export type Toxiproxy = Awaited<ReturnType<typeof startToxiproxy>>

/** Starts toxiproxy (https://github.com/Shopify/toxiproxy) as a process; `link` puts it before a port of this machine. */
export async function startToxiproxy(dir: string, onSpawn: (running: RunningProcess) => void) {
  const command = await ensureToxiproxy()
  const port = await freePort()
  const args = ['-host', '127.0.0.1', '-port', String(port)]
  const env = { PATH: process.env.PATH, LOG_LEVEL: 'error' }
  const running = await startProcess({ name: 'toxiproxy', command, args, env, logFile: join(dir, 'toxiproxy.log') })
  onSpawn(running)
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
    async link(name: string, upstreamPort: number): Promise<Link> {
      const listenPort = await freePort()
      const own = { name, listen: `127.0.0.1:${listenPort}`, upstream: `127.0.0.1:${upstreamPort}` }
      await call('POST', 'proxies', { ...own, enabled: true })
      const at = `proxies/${encodeURIComponent(name)}`
      let toxics: string[] = []
      return {
        name,
        port: listenPort,
        async add(toxic, directions) {
          for (const stream of directions) {
            const toxicName = `${toxic.type}_${stream}`
            await call('POST', `${at}/toxics`, { ...toxic, name: toxicName, stream })
            toxics.push(toxicName)
          }
        },
        refuse: async () => void (await call('POST', at, { enabled: false })),
        async heal() {
          for (const toxic of toxics) await call('DELETE', `${at}/toxics/${toxic}`)
          toxics = []
          await call('POST', at, { enabled: true })
        },
      }
    },
  }
}

/** Whether it is installed, or can be built. */
export const hasToxiproxy = async () => (await findToxiproxy()) !== undefined

/** The program, or the Go that builds it. */
async function findToxiproxy(): Promise<{ program: string } | { go: string } | undefined> {
  if (await isInstalled()) return { program: INSTALLED }
  if (existsSync(BUILT)) return { program: BUILT }
  const go = await findGo()
  return go === undefined ? undefined : { go }
}

/** Builds it once, unless it is there. */
async function ensureToxiproxy(): Promise<string> {
  const found = await findToxiproxy()
  if (found === undefined)
    throw new Failure(`${INSTALLED} not found. Install it, or Go 1.21 or newer, which builds it.`)
  if ('program' in found) return found.program
  const { go } = found
  mkdirSync(dirname(BUILT), { recursive: true })
  await withLock(`${BUILT}.lock`, { waitTimeoutMs: INSTALL_TIMEOUT_MS }, async (alsoHeldBy) => {
    if (existsSync(BUILT)) return
    console.error('Building toxiproxy (once) …')
    const source = `github.com/Shopify/toxiproxy/v2/cmd/server@v${VERSION}`
    // Without cgo: as root, Go's probes of gcc can delete /dev/null.
    const env = { ...process.env, GOBIN: dirname(BUILT), CGO_ENABLED: '0' }
    const options = { env, timeoutMs: INSTALL_TIMEOUT_MS, onStart: alsoHeldBy }
    const { code, output } = await runCommand(go, ['install', source], options)
    if (code !== 0) throw new Failure(`${go} could not build toxiproxy ${VERSION}:\n${output}`)
  })
  return BUILT
}

const isInstalled = async () => !(await runCommand(INSTALLED, ['-version'], { timeoutMs: START_TIMEOUT_MS })).missing

/** On the PATH, or where its own archive is unpacked to. */
async function findGo(): Promise<string | undefined> {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: START_TIMEOUT_MS })).missing) return go
  return undefined
}
