import { expect, it, onTestFinished } from 'vitest'
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

it.each([
  ['half of its lifetime', true, LIFETIME_S / 2],
  ['10 s if it has no lifetime', false, 10],
])('a token is requested once for all that ask, and given out for %s', async (_how, namesLifetime, heldS) => {
  const { endpoint, tokens, passSeconds } = await openTokens({ namesLifetime })
  const [first, second] = await Promise.all([tokens.current(), tokens.current()])
  expect([second, endpoint.granted()]).toEqual([first, 1])
  passSeconds(heldS - 1)
  expect([await tokens.current(), endpoint.granted()]).toEqual([first, 1])
  passSeconds(2)
  expect(await tokens.current()).not.toBe(first)
  expect(endpoint.granted()).toBe(2)
  // Kafka has refused it.
  tokens.forget()
  await tokens.current()
  expect(endpoint.granted()).toBe(3)
})

it('a wrong secret is named, and the next one is taken', async () => {
  const { endpoint, tokens, useSecret } = await openTokens()
  endpoint.changeSecret('another')
  const message = expect.stringContaining('KAFKA_SASL_OAUTH_CLIENT_SECRET')
  await expect(tokens.current()).rejects.toMatchObject({ name: 'Refused', message })
  useSecret('another')
  expect(await tokens.current()).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
})

it('a server that does not respond is named, also after the retries of kafkajs', async () => {
  const { endpoint, tokens } = await openTokens()
  endpoint.close()
  const error = await tokens.current().catch((failure: unknown) => failure)
  const retried = new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 1 })
  for (const failed of [error, retried])
    expect(reasonOf(failed)).toMatch(/^KAFKA_SASL_OAUTH_TOKEN_URL does not respond with a token: check/)
})
