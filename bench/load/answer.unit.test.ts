import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readAnswer } from './answer.ts'

const position = fc.option(
  fc.tuple(fc.nat({ max: 11 }), fc.nat()).map(([p, o]) => `${p}-${o}`),
  { nil: undefined },
)
const answer = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  position,
  isLast: fc.boolean(),
  // With what looks like a head.
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

describe('an answer', () => {
  it('is read when all of it is there, and not before', () => {
    fc.assert(
      fc.property(answer, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (told, part) => {
        const text = write(told)
        const { status, position: at, isLast } = told
        expect(readAnswer(text)).toEqual({ status, position: at, isLast })
        expect(readAnswer(text.slice(0, Math.floor(text.length * part)))).toBeUndefined()
      }),
    )
  })

  it('that was not asked for is refused', () => {
    fc.assert(
      fc.property(answer, (told) => {
        expect(() => readAnswer(`${write(told)}H`)).toThrow('more came')
      }),
    )
  })

  it('that tells no length, or is of another protocol, is refused', () => {
    expect(() => readAnswer('HTTP/1.1 200 OK\r\n\r\n')).toThrow('without its length')
    expect(() => readAnswer('HTTP/2 200\r\ncontent-length: 0\r\n\r\n')).toThrow('no answer of HTTP/1.1')
  })
})
