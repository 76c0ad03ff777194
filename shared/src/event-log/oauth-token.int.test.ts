import { describe, expect, it, onTestFinished } from 'vitest'
import { startTokenEndpoint } from '../../../tests/support/token-endpoint.ts'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { reasonOf } from './broker-errors.ts'
import { createTokenSource } from './oauth-token.ts'

const { KafkaJSNumberOfRetriesExceeded } = kafkajsModule('src/errors.js')
const LIFETIME_S = 60

async function openTokens({ namesLifetime = true } = {}) {
  const endpoint = await startTokenEndpoint('plants', { lifetimeS: LIFETIME_S, namesLifetime })
  onTestFinished(endpoint.close)
  let now = 0
  let secret = endpoint.secret()
  const tokens = createTokenSource({
    ...{ tokenUrl: endpoint.url, clientId: 'plants', clientSecret: () => secret, scope: 'kafka' },
    time: { now: () => now, after: () => () => {} },
  })
  return {
    endpoint,
    tokens,
    passSeconds(seconds: number): void {
      now += seconds * 1_000
    },
    useSecret(next: string): void {
      secret = next
    },
  }
}

describe('the source of tokens', () => {
  it.each([
    ['half of its lifetime', true, LIFETIME_S / 2],
    ['10 s if it has no lifetime', false, 10],
  ])('requests a token once for all that ask, and gives it out for %s', async (_how, namesLifetime, heldS) => {
    const { endpoint, tokens, passSeconds } = await openTokens({ namesLifetime })
    const [first, second] = await Promise.all([tokens.current(), tokens.current()])
    expect([second, endpoint.granted()]).toEqual([first, 1])
    passSeconds(heldS - 1)
    expect([await tokens.current(), endpoint.granted()]).toEqual([first, 1])
    passSeconds(2)
    expect(await tokens.current()).not.toBe(first)
    expect(endpoint.granted()).toBe(2)
  })

  it('requests another one when Kafka has refused the last one', async () => {
    const { endpoint, tokens } = await openTokens()
    await tokens.current()
    tokens.forget()
    await tokens.current()
    expect(endpoint.granted()).toBe(2)
  })

  it('names the settings when the secret is wrong, and takes the next one', async () => {
    const { endpoint, tokens, useSecret } = await openTokens()
    endpoint.changeSecret('another')
    await expect(tokens.current()).rejects.toThrow(
      expect.objectContaining({
        name: 'Refused',
        message: expect.stringContaining('KAFKA_SASL_OAUTH_CLIENT_SECRET'),
      }),
    )
    useSecret('another')
    expect(await tokens.current()).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  })

  it('names the setting when no server responds, also after the retries of kafkajs', async () => {
    const { endpoint, tokens } = await openTokens()
    endpoint.close()
    const error = await tokens.current().catch((failure: unknown) => failure)
    const retried = new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 1 })
    const reason = 'KAFKA_SASL_OAUTH_TOKEN_URL does not respond with a token: check its server and this address'
    expect([error, retried].map((failed) => reasonOf(failed))).toEqual([reason, reason])
  })
})
