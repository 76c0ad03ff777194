import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createAuthority } from '../../../local/stores/certificates.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { redisAccessOf } from './redis-access.ts'
import type { RedisSettings } from './redis-settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'redis-access-'))
afterAll(() => rmSync(folder, { recursive: true }))
const authority = createAuthority(folder)
const client = authority.issue('client', 'plants')
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** With no part of a password in the message. */
const notAUrl = (rest: string): [RedisSettings, string] => [
  { REDIS_URL: `redis://${rest}` },
  'REDIS_URL is not redis://user:password@host:port/database: escape special characters as %XX',
]
const URL_SETTINGS = { REDIS_URL: 'rediss://redis:6380' }
const SENTINELS = { REDIS_SENTINELS: 's1:26379,s2:26379', REDIS_SENTINEL_NAME: 'plants' }
const CLUSTER = { REDIS_CLUSTER_NODES: 'n1:6379,[::1]:6380' }

describe('the settings of Redis', () => {
  const at = (host: string, port: number) => ({ host, port })
  const SENTINEL_PLACE = { is: 'sentinels', sentinels: [at('s1', 26379), at('s2', 26379)], name: 'plants' }
  const CLUSTER_PLACE = { is: 'cluster', nodes: [at('n1', 6379), at('::1', 6380)] }
  const URL_WITH_SECRET = 'redis://u:hunter2@redis:6379/3'

  it.each<[RedisSettings, object, string]>([
    [{ REDIS_URL: URL_WITH_SECRET }, { is: 'server', url: URL_WITH_SECRET }, 'redis://redis:6379/3'],
    [SENTINELS, SENTINEL_PLACE, 'plants of the sentinels s1:26379,s2:26379'],
    [CLUSTER, CLUSTER_PLACE, 'cluster n1:6379,[::1]:6380'],
  ])('say where Redis is, and are shown without secrets: %o', (settings, place, address) => {
    const access = redisAccessOf(settings)
    expect([access.place, access.address]).toEqual([place, address])
  })

  it('name files that are read again each time; when that fails, the previous content stays', async () => {
    const passwordFile = file('password', 'first\n')
    const access = redisAccessOf({
      ...{ ...SENTINELS, REDIS_TLS: 'on', REDIS_CA_FILE: authority.ca },
      ...{ REDIS_CERT_FILE: client.cert, REDIS_KEY_FILE: client.key },
      ...{ REDIS_USERNAME: 'plants', REDIS_PASSWORD_FILE: passwordFile, REDIS_SENTINEL_PASSWORD: 'other' },
    })
    const tls = { ca: expect.stringMatching(/BEGIN/), cert: expect.any(String), key: expect.any(String) }
    const secrets = { username: 'plants', password: 'first', sentinelPassword: 'other', tls, sentinelTLS: tls }
    const reasons: string[] = []
    const renewed = () => access.secrets.renew((reason) => reasons.push(reason))
    expect(access.secrets.current()).toEqual(secrets)
    file('password', 'second')
    expect(await renewed()).toEqual({ ...secrets, password: 'second' })
    rmSync(passwordFile)
    expect(await renewed()).toEqual({ ...secrets, password: 'second' })
    execFileSync('mkfifo', [passwordFile])
    expect(await renewed()).toEqual({ ...secrets, password: 'second' })
    expect(reasons).toEqual([
      expect.stringMatching(/REDIS_PASSWORD_FILE names .*\(ENOENT\): correct the path.*the previous Redis .* stays/),
      expect.stringMatching(/REDIS_PASSWORD_FILE names .*, which is not a regular file; the previous Redis .* stays/),
    ])
  })

  it.each<[RedisSettings, string]>([
    [{}, 'REDIS_URL is missing: .* or set REDIS_SENTINELS or REDIS_CLUSTER_NODES'],
    [{ ...URL_SETTINGS, ...CLUSTER }, 'REDIS_URL and REDIS_CLUSTER_NODES contradict each other: set one of them'],
    [{ REDIS_SENTINELS: 's1:26379' }, 'REDIS_SENTINEL_NAME is missing: .*'],
    [{ ...CLUSTER, REDIS_SENTINEL_NAME: 'plants' }, 'REDIS_SENTINEL_NAME needs REDIS_SENTINELS'],
    ...['u:p@:x', 'redis/1.5', 'redis/1?db=2', '/3', 'u:%hunter2@redis', 'u:1#hunter2@redis'].map(notAUrl),
    [
      { REDIS_URL: 'rediss://u:p@redis', REDIS_USERNAME: 'u', REDIS_PASSWORD_FILE: file('p', 'p') },
      'REDIS_URL and REDIS_USERNAME contradict .*; REDIS_URL and REDIS_PASSWORD_FILE contradict .*',
    ],
    [{ ...URL_SETTINGS, REDIS_TLS: 'on' }, 'REDIS_TLS is for .*: write rediss:// in REDIS_URL instead'],
    [{ ...CLUSTER, REDIS_USERNAME: 'u' }, 'REDIS_USERNAME needs a password: set .*'],
    [{ ...CLUSTER, REDIS_PASSWORD: 'a', REDIS_PASSWORD_FILE: 'b' }, 'REDIS_PASSWORD and .* contradict each other: .*'],
    [{ ...CLUSTER, REDIS_PASSWORD_FILE: file('empty', '\n') }, 'REDIS_PASSWORD_FILE names .*, which is empty'],
    [{ ...CLUSTER, REDIS_CA_FILE: authority.ca }, 'REDIS_CA_FILE needs TLS: set REDIS_TLS to on'],
    [{ ...URL_SETTINGS, REDIS_CA_FILE: client.key }, 'REDIS_CA_FILE names .*, which has no certificate in PEM'],
    [
      { REDIS_SENTINELS: 's1:26379', REDIS_USERNAME: 'u', REDIS_CA_FILE: authority.ca },
      'REDIS_SENTINEL_NAME is missing.*; REDIS_USERNAME needs a password.*; REDIS_CA_FILE needs TLS.*',
    ],
  ])('are refused with the fix, all faults at once: %o', (settings, message) => {
    const refused = () => redisAccessOf(settings)
    expect(refused).toThrow(PreconditionError)
    expect(refused).toThrow(new RegExp(`^settings: ${message}$`))
  })
})
