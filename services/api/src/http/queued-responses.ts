import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** In total, because a client can send a thousand requests in one packet; each takes up to 13 KB. */
const MAX_QUEUED_RESPONSES = 2_000

/**
 * Limits the responses that wait for an earlier one of their connection: a client can pipeline requests and not read.
 * Beyond the limit, the connection with the most of them is closed. Its memory is free only when Node has read from all
 * connections; until then, a connection that adds one is closed.
 */
export function limitQueuedResponses(server: Server): void {
  const queuedOn = new Map<Socket, number>()
  let queued = 0

  function add(socket: Socket, count: number): void {
    queuedOn.set(socket, (queuedOn.get(socket) ?? 0) + count)
    queued += count
  }

  function limit({ socket }: IncomingMessage, response: ServerResponse): void {
    // Only the first response has the socket. A closed connection may have further requests in what was read last.
    if (response.socket !== null || socket.destroyed) return
    if (!queuedOn.has(socket)) {
      socket.once('close', () => {
        queued -= queuedOn.get(socket) ?? 0
        queuedOn.delete(socket)
      })
    }
    add(socket, 1)
    response.once('close', () => {
      if (queuedOn.has(socket)) add(socket, -1)
    })
    if (queued <= MAX_QUEUED_RESPONSES) return
    const connections = [...queuedOn]
    const [largest] = connections.reduce((most, next) => (next[1] > most[1] ? next : most))
    const isOneClosing = connections.some(([{ destroyed }]) => destroyed)
    if (isOneClosing) socket.destroy()
    else largest.destroy()
  }

  // Prepended, because other listeners respond at once.
  server.prependListener('request', limit)
}
