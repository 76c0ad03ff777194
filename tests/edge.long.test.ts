import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import type { Browser, Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { hasBrowser, openBrowser } from './support/browser.ts'
import { readPlant } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { listen } from './support/listen.ts'
import { type RunningApi, startApiAlone, TOKEN } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { untilNotices } from './support/readiness.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { createTrustedAuthority } from './support/trusted-authority.ts'

const isPossible = hasBrowser('A page of another origin')

it('a new certificate is taken without a restart, an unusable one is a notice, and who does not speak TLS gets no response', async () => {
  const [authority, folder] = [createTrustedAuthority(), temporaryFolder()]
  const used = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const use = (name: string) => {
    const { cert, key } = authority.issue(name)
    copyFileSync(key, used.key)
    copyFileSync(cert, used.cert)
  }
  use('first')
  const tls = { HTTP_TLS_CERT_FILE: used.cert, HTTP_TLS_KEY_FILE: used.key }
  const jwt = { JWT_ISSUER: 'issuer', JWT_AUDIENCE: 'plants', JWT_JWKS_URL: 'http://127.0.0.1:1/keys' }
  const { api } = await startApiAlone({ api: { ...tls, ...jwt, HEADERS_TIMEOUT_MS: '1000', CONNECTIONS_MAX: '1' } })
  expect(await certificateOf(api)).toBe('first')
  use('second')
  await eventually(async () => expect(await certificateOf(api)).toBe('second'))
  expect(await (await fetch(`${api.opsUrl}/metrics`)).text()).toMatch(/^plant_store_http_certificate_expiry\S+ \d+/m)

  const plainUrl = api.url.replace('https:', 'http:')
  const plain = openRaw(plainUrl)
  plain.write('GET /plants/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await plain.closed
  const silent = openRaw(plainUrl)
  await silent.closed
  expect([plain.received(), silent.received()]).toEqual(['', ''])
  // Both are gone: there is room for one connection.
  await eventually(async () => expect((await readPlant(api.url, 1n))?.status).toBe(404))

  writeFileSync(used.cert, 'x')
  const unusable = /^HTTP_TLS_CERT_FILE names .*; the previous certificate stays in use/
  await untilNotices(api, /^cannot fetch the JWT keys from JWT_JWKS_URL: no connection$/, unusable)
})

it.runIf(isPossible)(
  'a page of another origin creates and reads plants, retries, and reads failures; other pages cannot',
  async () => {
    const [allowed, other] = [await servePage(), await servePage()]
    const { api } = await startApiAlone({ api: { CORS_ORIGINS: allowed } })
    const browser = await openBrowser()
    onTestFinished(() => browser.close())

    const page = await openPage(browser, allowed)
    const create = { method: 'POST', path: '/plants', body: '{"id":1,"name":"Fern"}', key: 'one' }
    const created = await request(page, api, create)
    const { id: _, ...plant } = JSON.parse(create.body)
    expect(created).toEqual({ status: 200, body: plant, position: expect.stringMatching(/^\d+-\d+$/) })
    expect(await request(page, api, create)).toEqual(created)
    expect(await request(page, api, { ...create, key: 'other' })).toMatchObject({ status: 400, body: { error: 40003 } })
    const { position = '' } = created
    expect(await request(page, api, { path: '/plants/1', position })).toMatchObject({ status: 200 })
    expect(await request(page, api, { path: '/plants/2' })).toMatchObject({ status: 404, body: { error: 40401 } })
    expect(await request(page, api, { path: '/nothing' })).toMatchObject({ status: 404, body: { error: 40400 } })
    expect(await request(page, api, { path: '/plants', method: 'DELETE' })).toBe('failed')
    expect(await request(page, api, { path: '/plants/1', token: 'wrong' })).toMatchObject({ body: { error: 40101 } })
    expect(await page.evaluate(`fetch(${JSON.stringify(`${api.url}/plants/1`)}).then(({ status }) => status)`)).toBe(
      401,
    )

    const stranger = await openPage(browser, other)
    expect(await request(stranger, api, { ...create, body: '{"id":3,"name":"n"}' })).toBe('failed')
    expect((await readPlant(api.url, 3n))?.status).toBe(404)
  },
)

/** The name of the certificate that a new connection gets. */
async function certificateOf(api: RunningApi): Promise<unknown> {
  const { socket, closed } = openRaw(api.url)
  await once(socket, 'secureConnect')
  const { CN } = (socket as TLSSocket).getPeerCertificate().subject
  socket.destroy()
  await closed
  return CN
}

/** Serves an empty page; returns its origin. */
async function servePage(): Promise<string> {
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>'))
  return `http://127.0.0.1:${await listen(server)}`
}

async function openPage(browser: Browser, origin: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(origin)
  return page
}

type Sent = { path: string; method?: string; body?: string; key?: string; position?: string; token?: string }
type Seen = { status: number; body: unknown; position?: string }

/** Sends a request from a script of the page; `failed` when the browser keeps the response from the script. */
function request(page: Page, { url }: RunningApi, { path, method = 'GET', body, ...sent }: Sent): Promise<Seen> {
  const headers = {
    authorization: `Bearer ${sent.token ?? TOKEN}`,
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(sent.key !== undefined && { 'idempotency-key': sent.key }),
    ...(sent.position !== undefined && { 'plants-position': sent.position }),
  }
  const options = JSON.stringify({ method, headers, body })
  return page.evaluate(`fetch(${JSON.stringify(url + path)}, ${options}).then(async (response) => ({
    status: response.status,
    body: await response.json(),
    ...(response.headers.has('plants-position') && { position: response.headers.get('plants-position') }),
  }), () => 'failed')`)
}
