import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repeatedHeader, requestIdOf } from './request-head.ts'

const names = fc.constantFrom('Host', 'host', 'Authorization', 'AUTHORIZATION', 'X-A', 'x-a', '__proto__')
const heads = fc.array(names, { maxLength: 8 })

it('the first of these header names that is repeated is found, in any case, and no other', async () => {
  const singletons = ['host', 'authorization']
  await fc.assert(
    fc.asyncProperty(heads, async (sent) => {
      const lowerCase = sent.map((name) => name.toLowerCase())
      const again = lowerCase.find((name, at) => singletons.includes(name) && lowerCase.indexOf(name) < at)
      expect(repeatedHeader(await requestWith(sent), new Set(singletons))).toBe(again)
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

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const idOf = (given?: string) => requestIdOf({ headers: given === undefined ? {} : { 'x-request-id': given } })
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))

describe('the id of a request', () => {
  it('is the one of the client, if it has 1 to 128 visible ASCII characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: visible, minLength: 1, maxLength: 128 }), (given) => {
        expect(idOf(given)).toBe(given)
      }),
    )
  })

  it('is a new one otherwise', () => {
    const invisible = fc.constantFrom(' ', '\t', '\n', '\u007f', '\u0080', 'é', '🌱')
    const broken = fc
      .tuple(fc.string({ unit: visible, maxLength: 60 }), invisible, fc.string({ unit: visible, maxLength: 60 }))
      .map((parts) => parts.join(''))
    const tooLong = fc.string({ unit: visible, minLength: 129, maxLength: 300 })
    fc.assert(
      fc.property(fc.oneof(broken, tooLong, fc.constant('')), (given) => {
        expect(idOf(given)).toMatch(UUID)
      }),
    )
  })

  it('is another new one each time', () => {
    expect(new Set(Array.from({ length: 100 }, () => idOf())).size).toBe(100)
  })
})
