import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { afterAll, expect, it } from 'vitest'
import { createAuthority } from '../../../local/stores/certificates.ts'
import { readSettings } from '../runtime/settings.ts'
import { securityOf } from './kafka-security.ts'
import { KAFKA_SETTINGS } from './kafka-settings.ts'

const dir = mkdtempSync(join(tmpdir(), 'kafka-security-'))
afterAll(() => rmSync(dir, { recursive: true }))

const fileOf = (name: string, text: string) => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const authority = createAuthority(dir)
const { cert } = authority.issue('user', 'plants')
const other = authority.issue('other', 'plants')
const password = fileOf('password', 'secret\n')
const [empty, text] = [fileOf('empty', '\n'), fileOf('text', 'no certificate')]
const large = fileOf('large', 'x'.repeat(1_048_577))
const cut = fileOf('cut', readFileSync(authority.ca, 'utf8').repeat(2).slice(0, -40))

const security = (settings: Record<string, string>) =>
  securityOf(readSettings(Type.Object(KAFKA_SETTINGS), { KAFKA_BROKERS: 'localhost:9092', ...settings }))

const TLS = { KAFKA_SECURITY_PROTOCOL: 'SSL' }
const SASL = { KAFKA_SECURITY_PROTOCOL: 'SASL_PLAINTEXT' }
const SCRAM = { ...SASL, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', KAFKA_SASL_USERNAME: 'plants' }
const OAUTH = {
  ...{ ...SASL, KAFKA_SASL_MECHANISM: 'OAUTHBEARER' },
  ...{ KAFKA_SASL_OAUTH_TOKEN_URL: 'https://localhost/token', KAFKA_SASL_OAUTH_CLIENT_ID: 'plants' },
}

it.each<[Record<string, string>, string[]]>([
  [{ KAFKA_SECURITY_PROTOCOL: 'TLS' }, ['KAFKA_SECURITY_PROTOCOL must be PLAINTEXT or SSL or']],
  [
    { KAFKA_SSL_CA_FILE: authority.ca, KAFKA_SASL_USERNAME: 'plants' },
    ['KAFKA_SSL_CA_FILE needs KAFKA_SECURITY_PROTOCOL SSL', 'KAFKA_SASL_USERNAME needs KAFKA_SECURITY_PROTOCOL SASL'],
  ],
  [{ ...TLS, KAFKA_SSL_CERT_FILE: cert }, ['KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE belong together']],
  [{ ...TLS, KAFKA_SSL_CERT_FILE: cert, KAFKA_SSL_KEY_FILE: other.key }, ['KAFKA_SSL_KEY_FILE must name the key of']],
  ...Object.entries({
    [text]: `KAFKA_SSL_CA_FILE names ${text}, which has no certificate`,
    [join(dir, 'none')]: 'which cannot be read (ENOENT)',
    [dir]: 'which is not a regular file',
    [cut]: 'which is cut off',
    [large]: 'which is larger than 1048576 bytes',
    [empty]: 'which is empty',
  }).map(([file, fault]): [Record<string, string>, string[]] => [{ ...TLS, KAFKA_SSL_CA_FILE: file }, [fault]]),
  [SASL, ['KAFKA_SASL_MECHANISM is missing']],
  [
    { ...SASL, KAFKA_SASL_MECHANISM: 'PLAIN' },
    ['KAFKA_SASL_USERNAME is missing', 'set exactly one of KAFKA_SASL_PASSWORD and KAFKA_SASL_PASSWORD_FILE'],
  ],
  [{ ...SCRAM, KAFKA_SASL_PASSWORD: 'secret', KAFKA_SASL_PASSWORD_FILE: password }, ['set exactly one of']],
  [{ ...SCRAM, KAFKA_SASL_OAUTH_SCOPE: 'kafka' }, ['KAFKA_SASL_OAUTH_SCOPE is not for KAFKA_SASL_MECHANISM SCRAM']],
  [
    { ...OAUTH, KAFKA_SASL_PASSWORD: 'secret' },
    ['set exactly one of KAFKA_SASL_OAUTH_CLIENT_SECRET', 'KAFKA_SASL_PASSWORD is not for KAFKA_SASL_MECHANISM OAUTH'],
  ],
])('the settings of a secured Kafka are refused: %j', (settings, faults) => {
  const read = () => security(settings)
  for (const fault of faults) {
    const message = expect.stringContaining(fault)
    expect(read).toThrow(expect.objectContaining({ name: 'PreconditionError', message }))
  }
})

it('a refusal does not show a secret', () => {
  const wrong = { KAFKA_SASL_PASSWORD: 'secret', KAFKA_SASL_OAUTH_TOKEN_URL: 'https://user:secret@localhost' }
  expect(() => security(wrong)).toThrow(expect.not.objectContaining({ message: expect.stringContaining('secret@') }))
})
