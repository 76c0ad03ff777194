import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAuthority } from '../../../../local/stores/certificates.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { listen } from '../../../../tests/support/listen.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { openCertificate } from './certificate.ts'

const RELOAD_EVERY_MS = 5

const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const authority = createAuthority(folder)
const [first, second] = [authority.issue('first', 'first'), authority.issue('second', 'second')]

describe('a certificate', () => {
  it('is not needed', async () => {
    expect(await openCertificate({}, quietLog)).toBeUndefined()
  })

  it.each([
    ['key alone', { HTTP_TLS_KEY_FILE: first.key }, /set both or neither/],
    ['that is not there', files('/nowhere', first.key), /HTTP_TLS_CERT_FILE names \/nowhere.*ENOENT/],
    ['with another key', files(first.cert, second.key), /HTTP_TLS_KEY_FILE must name the key .*HTTP_TLS_CERT_FILE/],
  ])('%s is a wrong setting', async (_what, settings, message) => {
    const opening = openCertificate(settings, quietLog)
    await expect(opening).rejects.toThrow(PreconditionError)
    await expect(opening).rejects.toThrow(message)
  })

  it('is renewed for new connections; unusable files leave the previous one, and the log names them', async () => {
    const used = { cert: join(folder, 'used.crt'), key: join(folder, 'used.key') }
    const write = (certified: typeof used) => {
      copyFileSync(certified.key, used.key)
      copyFileSync(certified.cert, used.cert)
    }
    write(first)
    const lines: { level: string; msg: string }[] = []
    const log = createLog('test', 'info', { write: (line: string) => void lines.push(JSON.parse(line)) })
    const certificate = await openCertificate(files(used.cert, used.key), log, RELOAD_EVERY_MS)
    if (certificate === undefined) throw new Error('no certificate')
    onTestFinished(certificate.close)
    const server = createServer(certificate.current())
    certificate.renewOn(server)
    await listen(server)
    const open = () => connectTo(server.address() as AddressInfo)

    const old = await open()
    expect(nameOf(old)).toBe('first')
    write(second)
    await eventually(async () => expect(nameOf(await open())).toBe('second'))
    expect(certificate.expiresAt()).toBeGreaterThan(Date.now() / 1_000)
    writeFileSync(used.cert, '-----BEGIN CERTIFICATE-----\nx')
    await eventually(() => expect(lines.at(-1)).toMatchObject({ level: 'error' }))
    expect(lines.at(-1)?.msg).toMatch(/HTTP_TLS_CERT_FILE names .*used\.crt.*the previous certificate stays/)
    expect(nameOf(await open())).toBe('second')
    write(first)
    await eventually(async () => expect(nameOf(await open())).toBe('first'))
    expect(lines.filter(({ level }) => level === 'info')).toHaveLength(2)

    old.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    server.once('request', (_request, response) => response.end('as before'))
    await eventually(() => expect(String(old.read() ?? '')).toMatch(/as before/))
  })
})

function files(cert: string, key: string) {
  return { HTTP_TLS_CERT_FILE: cert, HTTP_TLS_KEY_FILE: key }
}

function connectTo({ port }: AddressInfo): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const ca = readFileSync(authority.ca)
    const socket = connect({ port, host: '127.0.0.1', ca, checkServerIdentity: () => undefined }, () => resolve(socket))
    onTestFinished(() => void socket.destroy())
    socket.on('error', reject)
  })
}

const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN
