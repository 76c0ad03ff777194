import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { createDefaultApp } from '../../../local/describe.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openRaw } from '../../../tests/support/raw-connection.ts'

/** Each case takes at least twice as much when it is kept. A client can send it again and again, on many connections. */
const MAX_BYTES = 5_000_000

const head = (line: string, ...fields: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: x', 'Authorization: Bearer t', ...fields].join('\r\n')}\r\n\r\n`
const post = (...fields: string[]) => head('POST /plants', 'Content-Type: application/json', ...fields)
const withBody = (body: string) => post(`Content-Length: ${body.length}`) + body
const CHUNKED = 'Transfer-Encoding: chunked'
const chunks = (count: number) => '1\r\n \r\n'.repeat(count)
const withChunks = (line: string) => `${head(line, CHUNKED)}${chunks(6_000)}0\r\n\r\n`
const values = `[${'{},'.repeat(20_000)}{}]`
const waiting = head('GET /plants/1')

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** An app whose plants are neither found nor created before the end of the test. */
async function openApp() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const app = await createDefaultApp({
    strategy: async () => ({ caller: 'c', scopes: ['plants:read', 'plants:write'] }),
    creation: { create: () => promise.then(() => ({ is: 'notWritten' })) },
    reader: { read: () => promise.then(() => ({ is: 'noSuchPlant' })) },
  })
  const sockets: Socket[] = []
  app.server.on('connection', (socket) => sockets.push(socket))
  onTestFinished(async () => {
    resolve()
    for (const socket of sockets) socket.destroy()
    await app.close()
  })
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), sockets }
}

it.each([
  ['a body in many chunks', 1, post(CHUNKED) + chunks(60_000)],
  ['what a create does not need of its body', 1, withBody(`{"id":1,"name":"n","x":${values}}`).repeat(12)],
  ['a body that no operation reads', 1, waiting + withChunks('GET /plants/1').repeat(15)],
  ['many headers', 60, head('GET /x', ...Array.from({ length: 2_500 }, (_, n) => `${n.toString(36)}:`))],
])('is not kept: %s', async (_what, connections, text) => {
  const { url, sockets } = await openApp()
  const idle = openRaw(url)
  idle.write(waiting)
  await eventually(() => expect(sockets[0]?.bytesRead).toBe(waiting.length))
  async function growth(): Promise<number> {
    const former = sockets.length
    const before = usedBytes()
    for (let n = 0; n < connections; n++) {
      const { socket, write } = openRaw(url)
      await once(socket, 'connect')
      write(text)
    }
    await eventually(() =>
      expect(sockets.slice(former).map(({ bytesRead }) => bytesRead)).toEqual(Array(connections).fill(text.length)),
    )
    await new Promise(setImmediate)
    return usedBytes() - before
  }

  // A fault keeps memory each time. Earlier tests of the process may do so once.
  const growths = [await growth(), await growth(), await growth()]
  expect(Math.min(...growths)).toBeLessThan(MAX_BYTES)
})

function usedBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
