import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Failure } from './failure.mjs'

export const DEFAULT_RANGE = { from: 20_000, to: 32_000 }
const MAX_ATTEMPTS = 100
const drawn = new Set<number>()

/**
 * A port of 127.0.0.1 that nothing listens on.
 *
 * Not "port 0": the system then picks one of the range of outgoing connections (from
 * 32768 on Linux, 49152 on macOS). A client that keeps reconnecting to such a port while its server is being
 * restarted can be given that very port as its own end, connects to itself, and the server cannot come back.
 */
export async function freePort(): Promise<number> {
  const range = process.env.PLANT_STORE_PORTS || `${DEFAULT_RANGE.from}-${DEFAULT_RANGE.to}`
  const [, from = Number.NaN, to = Number.NaN] = /^(\d{4,5})-(\d{4,5})$/.exec(range)?.map(Number) ?? []
  if (!(from < to)) throw new Failure(`PLANT_STORE_PORTS ${range}: expected two ports, as in 20000-32000.`)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(from, to)
    if (drawn.has(port)) continue
    drawn.add(port)
    if (await isPortFree(port, '127.0.0.1')) return port
  }
  throw new Failure(`No free port found between ${from} and ${to} on 127.0.0.1.`)
}

/** Throws a Failure when this machine has no such address. */
export async function isPortFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') return false
    throw new Failure(`Cannot listen on ${host}:${port} (${code}). Check HOST and the port.`)
  }
  server.close()
  await once(server, 'close')
  return true
}
