const waitMs = 1000

/** @typedef {import('node:net').Socket} Socket */

/**
 * Checks that a server replies to a request as it does when it serves clients. An open port is not enough: Docker opens
 * the port of a container before anything in it listens.
 *
 * @param {Socket} socket to the server, being connected
 * @param {Buffer} request
 * @param {(answer: Buffer) => boolean} isRight
 * @returns {Promise<boolean>} false also without a reply within 1 s
 */
export function answers(socket, request, isRight) {
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ isUp) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.setTimeout(waitMs, () => end(false))
    socket.once('error', () => end(false))
    socket.once('close', () => end(false))
    socket.once('data', (answer) => end(isRight(Buffer.from(answer))))
    socket.write(request)
  })
}
