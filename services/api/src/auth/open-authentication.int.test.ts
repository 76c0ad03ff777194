import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AUDIENCE, ISSUER, startIssuer } from '../../../../tests/support/issuer.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import type { ApiSettings } from '../settings.ts'
import { openAuthentication } from './open-authentication.ts'

const DIGESTS = { PLANT_STORE_TOKEN_DIGESTS: `ann:${digestOf('a').toString('hex')}` }
const JWT = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: 'http://127.0.0.1:9/' }

async function open(settings: Partial<ApiSettings>) {
  const opened = await openAuthentication(settings, quietLog)
  onTestFinished(opened.close)
  return { callerOf: async (token: string) => (await opened.strategy(token))?.caller }
}

describe('authentication', () => {
  it('accepts opaque tokens, JWTs, or both', async () => {
    const issuer = await startIssuer()
    const jwt = { ...JWT, JWT_JWKS_URL: issuer.url }
    const caller = 'jwt:["https://id.example","ann"]'
    expect(await (await open(DIGESTS)).callerOf('a')).toBe('ann')
    expect(await (await open(jwt)).callerOf(await issuer.sign())).toBe(caller)
    const both = await open({ ...DIGESTS, ...jwt })
    expect([await both.callerOf('a'), await both.callerOf(await issuer.sign())]).toEqual(['ann', caller])
  })

  it.each<[string, Partial<ApiSettings>, RegExp]>([
    ['nothing', {}, /PLANT_STORE_TOKEN_DIGESTS or .*JWT_JWKS_URL/],
    ['entries and a file', { ...DIGESTS, PLANT_STORE_TOKEN_DIGESTS_FILE: '/dev/null' }, /not both/],
    ['a JWT issuer alone', { ...DIGESTS, JWT_ISSUER: ISSUER }, /all of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL/],
    ['no JWT audience', { JWT_ISSUER: ISSUER, JWT_JWKS_URL: JWT.JWT_JWKS_URL }, /all of JWT_ISSUER/],
    ['JWTs and invalid entries', { ...JWT, PLANT_STORE_TOKEN_DIGESTS: 'ann' }, /entry 1 of/],
  ])('does not start with %s', async (_what, settings, message) => {
    const opening = open(settings)
    await expect(opening).rejects.toThrow(PreconditionError)
    await expect(opening).rejects.toThrow(message)
  })
})
