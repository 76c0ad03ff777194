import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { Failure } from './failure.mjs'

export const DEFAULT_RANGE = { from: 20_000, to: 32_000 }
const MAX_ATTEMPTS = 100
let range: typeof DEFAULT_RANGE | undefined
const drawn = new Set<number>()

function rangeOf(text: string | undefined): typeof DEFAULT_RANGE {
  if (!text) return DEFAULT_RANGE
  const [, from, to] = /^(\d{4,5})-(\d{4,5})$/.exec(text) ?? []
  if (!(Number(from) < Number(to)))
    throw new Failure(`PLANT_STORE_PORTS ${text}: expected two ports, as in 20000-32000.`)
  return { from: Number(from), to: Number(to) }
}

/**
 * A port of 127.0.0.1 that nothing listens on.
 *
 * Not "port 0": the system then picks one of the range of outgoing connections (from
 * 32768 on Linux, 49152 on macOS). A client that keeps reconnecting to such a port while its server is being
 * restarted can be given that very port as its own end, connects to itself, and the server cannot come back.
 */
export async function freePort(): Promise<number> {
  range ??= rangeOf(process.env.PLANT_STORE_PORTS)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(range.from, range.to)
    if (drawn.has(port)) continue
    drawn.add(port)
    if (await isPortFree(port, '127.0.0.1')) return port
  }
  throw new Failure(`No free port found between ${range.from} and ${range.to} on 127.0.0.1.`)
}

/** Throws a Failure when this machine has no such address. */
export function isPortFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(new Failure(`Cannot listen on ${host}:${port} (${error.code}). Check HOST and the port.`))
    })
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
