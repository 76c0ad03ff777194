import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { bodyOf, newIds, TOKEN } from '../plant.ts'
import { createDispatch } from './dispatch.ts'
import { type Response, readResponse } from './response.ts'

const OPENED_AT_A_TIME = 100

/** `dueMs` is the time at which the request was due. */
type Events = {
  onSent(dueMs: number): void
  onResponse(dueMs: number, id: bigint, response: Response): void
  onBroken(why: string): void
  /** A connection has no request to send. */
  onFree(): void
}
type Connection = { socket: Socket | undefined; received: string; request?: { dueMs: number; id: bigint } | undefined }

/**
 * Sends requests to one api on at most `count` connections, one at a time on each. It is leaner than a general client:
 * on few cores, the CPU of the load is missing from the measured processes.
 */
export function createClients(url: string, count: number, readIds: BigInt64Array | undefined, events: Events) {
  const { host, hostname, port } = new URL(url)
  const fields = `HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${TOKEN}`
  const createHead = `POST /plants ${fields}\r\ncontent-type: application/json\r\ncontent-length: `
  const newId = newIds()
  const connections = Array.from({ length: count }, (): Connection => ({ socket: undefined, received: '' }))

  function openSocket(connection: Connection): Socket {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true })
    let why = 'a connection was closed without a response'
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => receive(connection, chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      why = `a connection failed: ${error.code}`
    })
    socket.on('close', () => {
      close(connection)
      if (connection.request === undefined) return
      events.onBroken(why)
      complete(connection)
    })
    return socket
  }

  function receive(connection: Connection, chunk: string): void {
    connection.received += chunk
    const response = readResponse(connection.received)
    if (response === undefined || connection.request === undefined) return
    if (response.isLast) close(connection)
    const { dueMs, id } = connection.request
    events.onResponse(dueMs, id, response)
    complete(connection)
  }

  function complete(connection: Connection): void {
    connection.received = ''
    connection.request = undefined
    if (!dispatch.answered(connection)) events.onFree()
  }

  /** The next request opens it again. */
  function close(connection: Connection): void {
    connection.socket?.removeAllListeners('close').destroy()
    connection.socket = undefined
  }

  const dispatch = createDispatch(connections, (connection, dueMs) => {
    connection.socket ??= openSocket(connection)
    const id = readIds === undefined ? newId() : (readIds[Math.floor(Math.random() * readIds.length)] as bigint)
    connection.request = { dueMs, id }
    const body = bodyOf(id)
    const create = () => `${createHead}${body.length}\r\n\r\n${body}`
    connection.socket.write(readIds === undefined ? create() : `GET /plants/${id} ${fields}\r\n\r\n`, 'latin1')
    events.onSent(dueMs)
  })

  return {
    ...dispatch,

    /** Opens all connections, a few at a time: the system resets those beyond the listen backlog of a busy server. */
    async openAll(): Promise<void> {
      for (const [n, connection] of connections.entries()) {
        connection.socket = openSocket(connection)
        if ((n + 1) % OPENED_AT_A_TIME === 0 || n + 1 === count) await once(connection.socket, 'connect')
      }
    },

    close(): void {
      for (const connection of connections) close(connection)
    },
  }
}

export type Clients = ReturnType<typeof createClients>
