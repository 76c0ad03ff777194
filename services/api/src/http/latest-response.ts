import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The response to the latest request of a connection that had a readable head, with the request in its `req`. */
export type LatestResponse = (socket: Socket) => ServerResponse | undefined

/** Keeps the latest response of each connection, from before anything may answer on it. */
export function trackLatestResponses(server: Server): LatestResponse {
  const latest = new WeakMap<Socket, ServerResponse>()
  // Before Fastify's own listener, which may answer at once.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    latest.set(socket, response)
  })
  return (socket) => latest.get(socket)
}
