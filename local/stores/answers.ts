import type { Socket } from 'node:net'

const WAIT_MS = 1000

/**
 * Checks that a server replies to a request as it does when it serves clients. An open port is not enough: Docker opens
 * the port of a container before anything in it listens. False also without a reply within 1 s.
 */
export function answers(socket: Socket, request: Buffer, isRight: (answer: Buffer) => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.setTimeout(WAIT_MS, () => end(false))
    for (const event of ['error', 'close']) socket.once(event, () => end(false))
    socket.once('data', (answer) => end(isRight(Buffer.from(answer))))
    socket.write(request)
  })
}
