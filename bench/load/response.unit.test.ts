import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readResponse } from './response.ts'

const position = fc.option(
  fc.tuple(fc.nat({ max: 11 }), fc.nat()).map(([p, o]) => `${p}-${o}`),
  { nil: undefined },
)
const response = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  position,
  isLast: fc.boolean(),
  // Some bodies look like a head.
  body: fc.string({ unit: fc.constantFrom('a', '\r\n', '\r\n\r\n', 'content-length: 7', '{', 'é') }),
})

function write({
  status,
  position: at,
  isLast,
  body,
}: {
  status: number
  position: string | undefined
  isLast: boolean
  body: string
}) {
  const bytes = Buffer.from(body, 'latin1')
  const fields = [
    'x-request-id: 1',
    ...(at === undefined ? [] : [`plants-position: ${at}`]),
    `content-length: ${bytes.length}`,
    `connection: ${isLast ? 'close' : 'keep-alive'}`,
  ]
  return `HTTP/1.1 ${status} Some words\r\n${fields.join('\r\n')}\r\n\r\n${body}`
}

describe('a response', () => {
  it('is read when all of it is there, and not before', () => {
    fc.assert(
      fc.property(response, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (sample, part) => {
        const text = write(sample)
        const { status, position: at, isLast } = sample
        expect(readResponse(text)).toEqual({ status, position: at, isLast })
        expect(readResponse(text.slice(0, Math.floor(text.length * part)))).toBeUndefined()
      }),
    )
  })

  it('with bytes after its end is rejected', () => {
    fc.assert(
      fc.property(response, (sample) => {
        expect(() => readResponse(`${write(sample)}H`)).toThrow('bytes follow the response')
      }),
    )
  })

  it('without a length or of another protocol is rejected', () => {
    expect(() => readResponse('HTTP/1.1 200 OK\r\n\r\n')).toThrow('without Content-Length')
    expect(() => readResponse('HTTP/2 200\r\ncontent-length: 0\r\n\r\n')).toThrow('not a response of HTTP/1.1')
  })
})
