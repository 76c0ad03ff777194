import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type CreateResponse, readResponse } from './response.ts'

/**
 * One connection of a load generator, with one request at a time on it. Leaner than a client for everybody, since on
 * few cores a load takes what it costs from what it measures. A connection that ended is opened again by the next
 * request.
 */
export function createConnection(
  { hostname, port }: URL,
  onResponse: (response: CreateResponse) => void,
  onBroken: (why: string) => void,
) {
  let socket: Socket | undefined
  let received = ''
  let isOut = false

  function take(chunk: string): void {
    received = received === '' ? chunk : received + chunk
    const response = readResponse(received)
    if (response === undefined) return
    received = ''
    isOut = false
    if (response.isLast) close()
    onResponse(response)
  }

  function close(): void {
    socket?.removeAllListeners('close').destroy()
    socket = undefined
  }

  function broke(why: string): void {
    close()
    received = ''
    if (isOut) {
      isOut = false
      onBroken(why)
    }
  }

  function open(): Socket {
    const opened = connect({ port: Number(port), host: hostname, noDelay: true })
    let why = 'a connection was closed without a response'
    opened.setEncoding('latin1')
    opened.on('data', take)
    opened.on('error', (error: NodeJS.ErrnoException) => {
      why = `a connection failed: ${error.code}`
    })
    opened.on('close', () => broke(why))
    return opened
  }

  return {
    /** Opens it before it is used. */
    async opened(): Promise<void> {
      socket ??= open()
      if (socket.connecting) await once(socket, 'connect')
    },

    /** `request` is the whole of it, in ASCII. */
    send(request: string): void {
      isOut = true
      socket ??= open()
      socket.write(request, 'latin1')
    },
    close,
  }
}
