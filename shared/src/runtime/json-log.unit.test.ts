import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createLog } from './json-log.ts'

const TOKEN = 'a-token-nobody-else-may-see'

/** The lines that `write` logs. */
function written(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = []
  write(createLog('test', 'debug', { write: (line) => lines.push(line) }))
  return lines.join('')
}

function request(): IncomingMessage {
  const message = new IncomingMessage(new Socket())
  message.method = 'GET'
  message.url = `/plants/1?access_token=${TOKEN}`
  message.headers = { authorization: `Bearer ${TOKEN}` }
  message.rawHeaders = ['Authorization', `Bearer ${TOKEN}`]
  return message
}

it('logs an error with its type, message, code, stack and causes', () => {
  const cause = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })
  const err = Object.assign(new TypeError('no reply', { cause }), { code: 'E_NONE' })
  const line = JSON.parse(written((log) => log.error({ err }, 'it failed')))
  expect(line).toMatchObject({ level: 'error', name: 'test', msg: 'it failed' })
  expect(line.err).toEqual({
    type: 'TypeError',
    message: 'no reply: no connection',
    code: 'E_NONE',
    stack: expect.stringMatching(/TypeError: no reply(.|\n)*caused by: Error: no connection/),
  })
})

it('logs each error of an AggregateError, a thrown string, and only the type of any other thrown value', () => {
  const errOf = (err: unknown) => JSON.parse(written((log) => log.error({ err }))).err
  const errors = [{ message: 'one' }, { message: 'two' }]
  expect(errOf(new AggregateError([new Error('one'), new Error('two')], 'all failed'))).toMatchObject({ errors })
  expect(errOf('a text')).toBe('a text')
  expect(errOf({ token: TOKEN })).toBe('not an Error but: object')
})

const carrying = (fields: object) => Object.assign(new Error('x'), fields)
it.each<[string, () => object]>([
  ['a request', () => ({ req: request() })],
  ['headers', () => ({ headers: request().headers })],
  ['an error that carries a request', () => ({ err: carrying({ request: request() }) })],
  [
    'an error as of Node for a bad request',
    () => ({ err: carrying({ rawPacket: Buffer.from(`A: Bearer ${TOKEN}`) }) }),
  ],
  ['an error that has such a cause', () => ({ err: new Error('x', { cause: carrying({ request: request() }) }) })],
])('logs no token with %s', (_what, fields) => {
  const bytes = JSON.stringify([...Buffer.from(TOKEN)]).slice(1, -1)
  for (const line of [written((log) => log.error(fields())), written((log) => log.child(fields()).error('x'))]) {
    expect(line).toMatch(/"level":"error"/)
    expect(line).not.toContain(TOKEN)
    expect(line).not.toContain(bytes)
  }
})
