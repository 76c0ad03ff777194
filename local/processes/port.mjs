import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { Failure } from './failure.mjs'

const FROM = 20_000
const TO = 32_000
/** @type {{ from: number, to: number } | undefined} */
let range
/** @type {Set<number>} */
const drawn = new Set()

/**
 * From now on `freePort` draws from a part of its range that no other process draws from: a port that is free may be
 * drawn by two processes before one of them listens on it.
 *
 * @param {number} part from 0 on
 * @param {number} parts
 */
export function drawPortsFrom(part, parts) {
  const size = Math.floor((TO - FROM) / parts)
  const from = FROM + part * size
  range = { from, to: from + size }
}

/** @param {string} text */
function rangeOf(text) {
  const [, from, to] = /^(\d{4,5})-(\d{4,5})$/.exec(text) ?? []
  if (!(Number(from) < Number(to)))
    throw new Failure(`PLANT_STORE_PORTS ${text}: expected two ports, as in ${FROM}-${TO}.`)
  return { from: Number(from), to: Number(to) }
}

/**
 * A port of 127.0.0.1 that nothing listens on.
 *
 * Not "port 0": the system then picks one of the range of outgoing connections (from
 * 32768 on Linux, 49152 on macOS). A client that keeps reconnecting to such a port while its server is being
 * restarted can be given that very port as its own end, connects to itself, and the server cannot come back.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  range ??= rangeOf(process.env.PLANT_STORE_PORTS || `${FROM}-${TO}`)
  const maxAttempts = 100
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const port = randomInt(range.from, range.to)
    if (drawn.has(port)) continue
    drawn.add(port)
    if (await isPortFree(port, '127.0.0.1')) return port
  }
  throw new Failure(`No free port found between ${range.from} and ${range.to} on 127.0.0.1.`)
}

/**
 * @param {number} port
 * @param {string} host
 * @returns {Promise<boolean>}
 * @throws {Failure} when this machine has no such address
 */
export function isPortFree(port, host) {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(new Failure(`Cannot listen on ${host}:${port} (${error.code}). Check HOST and the port.`))
    })
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
