import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { readPlant } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { type RunningApi, startApiAlone } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { untilNotices } from './support/readiness.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { createTrustedAuthority } from './support/trusted-authority.ts'

const REQUEST = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'

it('a new certificate is for new connections, an unusable one is a notice, and who does not speak TLS gets no response', async () => {
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
  const { api } = await startApiAlone({ api: { ...tls, ...jwt, HEADERS_TIMEOUT_MS: '1000', CONNECTIONS_MAX: '2' } })
  expect(await certificateOf(api)).toBe('first')
  const old = openRaw(api.url)
  const untilAnswered = (count: number) => eventually(() => expect(old.responses()).toHaveLength(count))
  old.write(REQUEST)
  await untilAnswered(1)
  use('second')
  await eventually(async () => expect(await certificateOf(api)).toBe('second'))
  old.write(REQUEST)
  await untilAnswered(2)
  expect(await (await fetch(`${api.opsUrl}/metrics`)).text()).toMatch(/^plant_store_http_certificate_expiry\S+ \d+/m)

  const plainUrl = api.url.replace('https:', 'http:')
  const plain = openRaw(plainUrl)
  plain.write(REQUEST)
  await plain.closed
  const silent = openRaw(plainUrl)
  await silent.closed
  expect([plain.received(), silent.received()]).toEqual(['', ''])
  // Both are gone: there is room for another connection.
  await eventually(async () => expect((await readPlant(api.url, 1n))?.status).toBe(404))

  writeFileSync(used.cert, 'x')
  const unusable = /^HTTP_TLS_CERT_FILE names .*; the previous certificate stays in use/
  const noKeys = /^cannot fetch the JWT keys from JWT_JWKS_URL: no connection$/
  await untilNotices(api, noKeys, unusable)
  expect(await certificateOf(api)).toBe('second')
  use('third')
  await eventually(async () => expect(await certificateOf(api)).toBe('third'))
  await untilNotices(api, noKeys)
})

/** The name of the certificate that a new connection gets. */
async function certificateOf(api: RunningApi): Promise<unknown> {
  const { socket, closed } = openRaw(api.url)
  await once(socket, 'secureConnect')
  const { CN } = (socket as TLSSocket).getPeerCertificate().subject
  socket.destroy()
  await closed
  return CN
}
