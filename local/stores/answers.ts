import type { Socket } from 'node:net'

const WAIT_MS = 1000

/**
 * Checks that a server replies to a request as it does when it serves clients. An open port is not enough: Docker opens
 * the port of a container before anything in it listens. False also without a reply within 1 s.
 */
export async function answers(socket: Socket, request: Buffer, isRight: (answer: Buffer) => boolean): Promise<boolean> {
  socket.setTimeout(WAIT_MS, () => socket.destroy())
  socket.write(request)
  try {
    // The end of the loop destroys the socket.
    for await (const answer of socket) return isRight(answer)
  } catch {
    // It cannot be connected to, or has not replied.
  }
  return false
}
