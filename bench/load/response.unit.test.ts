import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readResponse } from './response.ts'

const response = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  position: fc.constantFrom(undefined, '3-120'),
  isLast: fc.boolean(),
  // Some bodies look like a head.
  body: fc.string({ unit: fc.constantFrom('a', '\r\n', '\r\n\r\n', 'content-length: 7', '{', '}') }),
})

it('a response is read when it is complete, and not before; bytes after it are rejected', () => {
  fc.assert(
    fc.property(response, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (sample, part) => {
      const { status, position, isLast, body } = sample
      const token = position === undefined ? '' : `plants-position: ${position}\r\n`
      const fields = `${token}content-length: ${body.length}\r\nconnection: ${isLast ? 'close' : 'keep-alive'}`
      const text = `HTTP/1.1 ${status} Some words\r\nx-request-id: 1\r\n${fields}\r\n\r\n${body}`
      expect(readResponse(text)).toEqual(sample)
      expect(readResponse(text.slice(0, Math.floor(text.length * part)))).toBeUndefined()
      expect(() => readResponse(`${text}H`)).toThrow('bytes follow the response')
    }),
  )
})
