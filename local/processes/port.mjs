import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { Failure } from './failure.mjs'

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
  const maxAttempts = 100
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const port = randomInt(20_000, 32_000)
    if (await isPortFree(port, '127.0.0.1')) return port
  }
  throw new Failure('No free port found between 20000 and 32000 on 127.0.0.1.')
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
