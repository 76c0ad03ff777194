import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Why a service can't do its work now, in words for an operator; none when it can. */
export type Readiness = () => string[]

/**
 * The operations port: `/livez` answers 200 while the process runs; `/readyz` answers 200 when it can
 * do its work and otherwise 503 with the reasons.
 */
export async function openOperationsPort(port: number, host: string, readiness: Readiness) {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    const known = path === '/livez' || path === '/readyz'
    if (!known) return answer(response, 404, { error: 404, message: 'try /livez or /readyz' })
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      return answer(response, 405, { error: 405, message: 'only GET and HEAD' })
    }
    if (path === '/livez') return answer(response, 200, { live: true })
    const reasons = readiness()
    answer(response, reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}
