import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { repeatedAmong } from './request-head.ts'

const names = fc.constantFrom('Host', 'host', 'Authorization', 'AUTHORIZATION', 'X-A', 'x-a', '__proto__')
const heads = fc.array(names, { maxLength: 8 })

it('of these names the first that comes again is told, in whatever case, and no other', async () => {
  const asked = ['host', 'authorization']
  await fc.assert(
    fc.asyncProperty(heads, async (sent) => {
      const lowerCase = sent.map((name) => name.toLowerCase())
      const again = lowerCase.find((name, at) => asked.includes(name) && lowerCase.indexOf(name) < at)
      expect(repeatedAmong(await requestWith(sent), new Set(asked))).toBe(again)
    }),
  )
})

/** A request with these headers, as Node reads it. */
async function requestWith(sent: string[]): Promise<IncomingMessage> {
  const server = createServer({ requireHostHeader: false })
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const read = once(server, 'request')
  server.emit('connection', connection)
  connection.push(`GET / HTTP/1.1\r\n${sent.map((name) => `${name}: x\r\n`).join('')}\r\n`)
  const [request] = await read
  connection.destroy()
  return request
}
