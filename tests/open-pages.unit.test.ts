import { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createDefaultApp } from '../local/describe.ts'
import { eventually } from './support/eventually.ts'

let app: Awaited<ReturnType<typeof createDefaultApp>>

beforeAll(async () => {
  app = await createDefaultApp()
})
afterAll(() => app.close())

const PAGES = [
  ['/openapi.json', 'application/json'],
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/page.js', 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/favicon.png', 'image/png'],
] as const

const LARGE_FILE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'

/** A connection whose client sends these requests at once, and does not read. */
function openUnread(requests: string): Duplex {
  const connection = new Duplex({ read() {}, write() {} })
  onTestFinished(() => void connection.destroy())
  app.server.emit('connection', connection)
  connection.push(requests)
  return connection
}

describe('the description and the page that shows it', () => {
  it.each(PAGES)('%s needs no token, is %s, can be kept by a client, and has GET and HEAD alone', async (url, type) => {
    const { statusCode, headers, rawPayload } = await app.inject({ url })
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' })
    expect(headers['content-length']).toBe(String(rawPayload.length))
    const etag = String(headers.etag)
    const kept = await app.inject({ url, headers: { 'if-none-match': etag } })
    expect(kept).toMatchObject({ statusCode: 304, body: '', headers: { etag } })
    const head = await app.inject({ url, method: 'HEAD' })
    expect(head).toMatchObject({ statusCode: 200, body: '' })
    expect(head.headers['content-length']).toBe(headers['content-length'])
    const other = await app.inject({ url, method: 'POST', body: 'x' })
    expect(other).toMatchObject({ statusCode: 405, headers: { allow: 'GET, HEAD' } })
  })

  it('a large file is in memory only as far as the client reads it', async () => {
    const connection = openUnread(LARGE_FILE)
    await eventually(() => expect(connection.writableNeedDrain).toBe(true))
    expect(connection.writableLength).toBeLessThan(100_000)
  })

  it.each(['/docs/', '/docs/page.html', '/docs/swagger-ui.css/', '/docs/..%2fapp.ts', '/openapi.yaml'])(
    '%s is nothing',
    async (url) => expect((await app.inject({ url })).json()).toMatchObject({ error: 40400 }),
  )

  it('may load only what the service serves, and may not be framed', async () => {
    const { headers } = await app.inject({ url: '/docs' })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
  })

  it("refer to each other by relative URLs, so that they work under a proxy's path", async () => {
    const { body } = await app.inject({ url: '/docs' })
    const references = [...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, reference]) => reference)
    const own = PAGES.map(([path]) => path.slice(1)).filter((path) => path.startsWith('docs/'))
    expect(new Set(references)).toEqual(new Set(own))
  })
})

describe('requests that wait for the responses to earlier ones of their connection', () => {
  it.each([
    ['large files', LARGE_FILE],
    ['small responses', 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['expectations', 'GET /docs HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n'],
  ])(
    '%s: beyond two thousand, the connection with the most of them is closed, which makes room',
    async (_what, request) => {
      const open = [20, 900, 1_500].map((count) => openUnread(LARGE_FILE + request.repeat(count)))
      await eventually(() => expect(open.map(({ closed }) => closed)).toEqual([false, false, true]))
      const later = openUnread(LARGE_FILE + request.repeat(1_000))
      await eventually(() => expect(later.writableLength).toBeGreaterThan(0))
      expect([...open, later].map(({ destroyed }) => destroyed)).toEqual([false, false, true, false])
    },
  )

  it('a client that reads can send any number, two thousand at once', async () => {
    let received = ''
    const connection = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        received += chunk
        done()
      },
    })
    app.server.emit('connection', connection)
    for (let sent = 2_000; sent <= 6_000; sent += 2_000) {
      connection.push('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000))
      await eventually(() => expect(received.split('"error":40400')).toHaveLength(sent + 1))
    }
    connection.destroy()
  })
})
