import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Opens a server at a free port of this machine; returns the port. It ends with the test, and its connections too. */
export async function listen(server: Server): Promise<number> {
  const { port, close } = await openPort(server)
  onTestFinished(close)
  return port
}

/** The same for several tests; its opener closes it. */
export async function openPort(server: Server): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  function close(): void {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: (server.address() as AddressInfo).port, close }
}
