import { beforeAll, describe, expect, it } from 'vitest'
import { expectErrorShape } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { openPlantStore, type RunningApi, TOKEN } from './support/plant-store.ts'
import { openRaw, type RawResponse } from './support/raw-connection.ts'
import { createTrustedAuthority } from './support/trusted-authority.ts'

const LIMITS = {
  // It limits the handshake of TLS, too, which takes its time on a busy machine.
  HEADERS_TIMEOUT_MS: '1500',
  REQUEST_TIMEOUT_MS: '2000',
  KEEP_ALIVE_TIMEOUT_MS: '500',
  READ_DEADLINE_MS: '300',
  BODY_MAX_BYTES: '2000',
  // The end of the store finds a token in its log.
  LOG_LEVEL: 'debug',
}
const MAX_TEXT = 1_000
const MORE_THAN_MAX_HEADERS = 17_000
const NO_LOG_REACHES = '0-999999'

const auth = `Authorization: Bearer ${TOKEN}\r\n`
const head = (line: string, ...fields: string[]) =>
  `${line} HTTP/1.1\r\nHost: x\r\n${auth}${fields.map((field) => `${field}\r\n`).join('')}\r\n`
const json = 'Content-Type: application/json'
const post = (body: string, ...fields: string[]) =>
  head('POST /plants', json, `Content-Length: ${Buffer.byteLength(body, 'latin1')}`, ...fields) + body
const chunked = (...chunks: string[]) => head('POST /plants', json, 'Transfer-Encoding: chunked') + chunks.join('')
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const text = (length: number) => 'x'.repeat(length)
/** A read that waits until its deadline. */
const waits = head('GET /plants/1', `Plants-Position: ${NO_LOG_REACHES}`)

function expectError(response: RawResponse | undefined, error: number, message?: RegExp): void {
  expect(response).toMatchObject({
    status: Math.floor(error / 100),
    headers: { 'content-type': 'application/json' },
  })
  const body = JSON.parse(Buffer.from(response?.body ?? '', 'latin1').toString())
  expectErrorShape(body)
  expect(body).toMatchObject({ error, message: expect.stringMatching(message ?? /\w/) })
  expect(body.message).not.toMatch(/\bat .*\.[jt]s|node_modules|<html/)
  expect(response?.headers['cache-control']).toBe('no-store')
  expect(response?.headers['retry-after']).toBe(Math.floor(error / 100) === 503 ? '1' : undefined)
}

function tlsSettings(): Record<string, string> {
  const { cert, key } = createTrustedAuthority().issue('api')
  return { HTTP_TLS_CERT_FILE: cert, HTTP_TLS_KEY_FILE: key }
}

describe.each([
  ['HTTP', () => ({})],
  ['HTTPS', tlsSettings],
])('%s', (_scheme, settings) => {
  let api: RunningApi

  beforeAll(async () => {
    const store = await openPlantStore()
    api = await store.startApi({ ...LIMITS, ...settings() })
    return store.end
  })

  /** The responses to these bytes, sent at once; the connection may stay open. */
  async function requestRaw(text: string, responses = 1): Promise<RawResponse[]> {
    const connection = openRaw(api.url)
    connection.write(text)
    await eventually(() => expect(connection.responses().length).toBeGreaterThanOrEqual(responses))
    return connection.responses()
  }

  /** The responses to these bytes, until the service closes the connection. */
  async function untilClosed(text: string): Promise<RawResponse[]> {
    const connection = openRaw(api.url)
    connection.write(text)
    await connection.closed
    return connection.responses()
  }

  /** The same, but only one response is valid. */
  async function expectOnlyError(text: string, error: number): Promise<void> {
    const responses = await untilClosed(text)
    expect(responses).toHaveLength(1)
    expectError(responses[0], error)
  }

  const noHost = `GET /plants/1 HTTP/1.1\r\n${auth}\r\n`
  const manyHeaders = `GET /plants/404 HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(2_100)}`
  const brace = (...fields: string[]) => `${head('POST /plants', ...fields, 'Content-Length: 1')}{`

  it.each<[string, string, number, RegExp?]>([
    ['no host', noHost, 40000, /Host/],
    ['two hosts', head('GET /plants/1', 'Host: y'), 40000, /host/],
    ['two hosts of a path that cannot be decoded', head('GET /plants/%zz', 'Host: y'), 40000, /host/],
    ['an invalid host', noHost.replace('\r\n', '\r\nHost: a b\r\n'), 40000, /Host/],
    ['two content types', post('{}', 'Content-Type: text/plain'), 40000, /content-type/],

    ['too many headers', head('GET /plants/1', ...Array.from({ length: 4_000 }, (_, n) => `X${n}: x`)), 43100],
    ['many headers before the token', `${manyHeaders}${auth}\r\n`, 40401],
    ['a long id', head(`GET /plants/${'1'.repeat(1_500)}`), 40004],
    ['a length too large, whatever comes', head('POST /plants', json, 'Content-Length: 2001'), 41300],
    ['chunks too large', chunked(...Array.from({ length: 5 }, () => chunk(' '.repeat(500)))), 41300],
    ['a name too long', post(`{"id":84,"name":"${text(MAX_TEXT + 1)}"}`), 40002, /name .*at most 1000 .*1001/],

    ['null', post('null'), 40002, /JSON object.*it is null/],
    ['nothing in the body', post('{}'), 40002, /name is missing; .*id is missing/],
    ['everything wrong', post('{"id":"1","name":1,"tag":[]}'), 40002, /string, but it is 1; tag .*array; id .*"1"/],
    ['a number that would fill all memory', post('{"id":1e999999999,"name":"n"}'), 40002, /it is 1e999999999/],
    ['a long number', post(`{"id":${'9'.repeat(1_000)},"name":"n"}`), 40002, /it is 9{40}…$/],
    ['no body', head('POST /plants'), 40002, /it is missing/],
    ['an empty body', head('POST /plants', json), 40001, /empty/],
    ['a body of another type', brace('Content-Type: text/plain'), 41500],
    ['a body of a coding', brace(json, 'Content-Encoding: gzip'), 41500],
    ['a body of JSON in UTF-8', brace(`${json}; charset="UTF-8"`, 'Content-Encoding: identity'), 40001],

    ['an unknown path', head('GET /nothing'), 40400],
    ['a path that cannot be decoded', head('GET /plants/%zz'), 40400],
    ['an invalid id', head('GET /plants/1.0'), 40004],
    ['a plant that there is not', head('GET /plants/404?x=1'), 40401],
    ['the whole URL', head('GET http://x/plants/404'), 40401],
    ['an invalid position for a list', head('GET /plants', 'Plants-Position: x'), 40006],
  ])('%s', async (_what, request, error, message) => {
    const [response] = await requestRaw(request)
    expectError(response, error, message)
    if (error === 40000) expect(response?.headers.connection).toBe('close')
    if (error !== 43100 && error !== 41300) expect(response?.headers['x-request-id']).toMatch(/./)
  })

  it.each([
    ['DELETE', head('DELETE /plants/1'), 'GET, HEAD'],
    ['PUT', `${head('PUT /plants', json, 'Content-Length: 1')}{`, 'GET, HEAD, POST'],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 'GET, HEAD, POST'],
  ])('another method: %s', async (_what, request, allow) => {
    const [response] = await requestRaw(request)
    expectError(response, 40500)
    expect(response?.headers).toMatchObject({ allow, 'x-request-id': expect.stringMatching(/./) })
  })

  it.each([
    ['as large a body', post('{"id":80,"name":"n"}'.padEnd(2_000)), 'n'],
    ['as long a name', post(`{"id":81,"name":"${text(MAX_TEXT)}"}`), text(MAX_TEXT)],
    ['chunks', chunked(chunk('{"id":70,'), chunk('"name":"n"}'), '0\r\n\r\n'), 'n'],
  ])('%s as allowed', async (_what, request, name) => {
    expect((await requestRaw(request))[0]).toMatchObject({ status: 200, body: JSON.stringify({ name }) })
  })

  const smuggled = 'GET /plants/1 HTTP/1.1\r\nHost: x\r\n\r\n'
  const inHttp10 = `POST /plants HTTP/1.0\r\nHost: x\r\n${auth}${json}\r\nConnection: keep-alive\r\n`
  it.each<[string, string]>([
    ['nonsense', 'nonsense\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['two lengths', head('POST /plants', json, 'Content-Length: 2', 'Content-Length: 40')],
    ['a length and a coding', head('POST /plants', json, 'Content-Length: 2', 'Transfer-Encoding: chunked')],
    ['a coding in HTTP/1.0', `${inHttp10}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunked, but not last', head('POST /plants', json, 'Transfer-Encoding: chunked, identity')],
    ['a chunk longer than its size', chunked('2\r\n{}}\r\n')],
  ])('%s gets one response, and nothing that follows is a request', (_what, request) =>
    expectOnlyError(request + smuggled, 40000),
  )

  it('a request that is not complete in time: 408', async () => {
    const incomplete = [
      '',
      'POST /plants HTTP/1.1\r\nHost: x\r\n',
      `${head('POST /plants', json, 'Content-Length: 100')}{"id":`,
      chunked(chunk('{"id":')),
    ]
    await Promise.all(incomplete.map((request) => expectOnlyError(request, 40800)))
  })

  it('an idle connection is closed without a response', () => expectOnlyError(head('GET /plants/404'), 40401))

  describe('what a client may offer or expect', () => {
    it('an upgrade and what follows it in the same packet are ignored, and the response closes the connection', async () => {
      for (const protocol of ['websocket', 'h2c', 'TLS/1.2']) {
        const fields = ['Connection: Upgrade', `Upgrade: ${protocol}`]
        for (const [request, error] of [
          [head('GET /plants/404', ...fields), 40401],
          [head('GET /x', ...fields), 40400],
          [post('{', ...fields), 40001],
        ] as const)
          await expectOnlyError(request + head('GET /plants/1'), error)
      }
    })

    it('another expectation: 417, which is counted', async () => {
      for (const expectation of ['tea', '100-continue, tea', '']) {
        const fields = [json, 'Content-Length: 2', `Expect: ${expectation}`, 'X-Request-Id: mine']
        const responses = await untilClosed(head('POST /plants', ...fields))
        expect(responses).toMatchObject([{ headers: { connection: 'close', 'x-request-id': 'mine' } }])
        expectError(responses[0], 41700)
      }
      const { opsUrl } = api
      const counted = /^plant_store_http_requests_total{method="POST",route="\/plants",status="417",error="41700"} 3$/m
      await eventually(async () => expect(await (await fetch(`${opsUrl}/metrics`)).text()).toMatch(counted))
    })

    it('"100-continue" gets a 100 when the head is acceptable', async () => {
      const connection = openRaw(api.url)
      const body = '{"id":95,"name":"n"}'
      connection.write(head('POST /plants', json, `Content-Length: ${body.length}`, 'Expect: 100-continue'))
      await eventually(() => expect(connection.responses()).toMatchObject([{ status: 100 }]))
      connection.write(body)
      await eventually(() => expect(connection.responses()).toMatchObject([{ status: 100 }, { status: 200 }]))
      connection.write(head('GET /plants/95'))
      await eventually(() => expect(connection.responses()).toHaveLength(3))
      expect(connection.responses()[2]).toMatchObject({ status: 200 })
    })

    const expecting = ['Content-Length: 5', 'Expect: 100-continue']
    it.each<[string, string, number]>([
      ['no token', 'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n', 40100],
      ['a coding', head('POST /plants', json, 'Content-Encoding: br', ...expecting), 41500],
      ['nothing there', head('POST /nothing', json, ...expecting), 40400],
    ])('no 100 is sent (%s), and the connection closes', (_what, request, error) => expectOnlyError(request, error))
  })

  describe('several requests on one connection', () => {
    it('get their responses in order, however long each takes', async () => {
      const responses = await requestRaw(waits + head('GET /plants/404') + post('{') + waits + head('GET /x'), 5)
      expect(responses.map(({ body }) => JSON.parse(body).error)).toEqual([50303, 40401, 40001, 50303, 40400])
    })

    it('get their responses before a malformed one does', async () => {
      for (const nonsense of ['nonsense\r\n\r\n', head('GET /plants/1', `X: ${'x'.repeat(MORE_THAN_MAX_HEADERS)}`)]) {
        const [first, second, ...more] = await untilClosed(waits + nonsense)
        expectError(first, 50303)
        expectError(second, nonsense.startsWith('GET') ? 43100 : 40000)
        expect(more).toEqual([])
      }
    })

    it('a truncated body behind a waiting request does not get its response first', async () => {
      for (const response of await untilClosed(waits + chunked('nonsense'))) expectError(response, 50303)
    })

    it('a body that is rejected early and continues malformed gets one response', async () => {
      const connection = openRaw(api.url)
      const refused = `POST /plants HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n`
      connection.write(refused)
      await eventually(() => expect(connection.responses()).toHaveLength(1))
      connection.write('nonsense\r\n')
      await connection.closed
      expect(connection.responses()).toHaveLength(1)
      expectError(connection.responses()[0], 40100)
    })
  })

  it('a client that only closes its sending side gets its response', async () => {
    const connection = openRaw(api.url)
    connection.socket.end(post('{"id":97,"name":"n"}'), 'latin1')
    await connection.closed
    expect(connection.responses()).toMatchObject([{ status: 200 }])
  })
})
