import { describe, expect, it } from 'vitest'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { preconditionErrorOf } from './broker-errors.ts'

const Authenticator = kafkajsModule('src/broker/saslAuthenticator/index.js')
const { KafkaJSConnectionClosedError, KafkaJSConnectionError, KafkaJSRequestTimeoutError } =
  kafkajsModule('src/errors.js')
const { createErrorFromCode } = kafkajsModule('src/protocol/error.js')
const SASL_AUTHENTICATION_FAILED = 58

/** What kafkajs makes of it when the broker, asked whether a secret is right, comes to this instead of an answer. */
async function failedWith(mechanism: string, answer: Error): Promise<unknown> {
  const quiet = { debug() {}, error() {}, namespace: () => quiet }
  const versions = { 17: { minVersion: 0, maxVersion: 1 }, 36: { minVersion: 0, maxVersion: 1 } }
  const connection = {
    sasl: { mechanism, username: 'name', password: 'secret' },
    async send({ request: { apiName } }: { request: { apiName: string } }) {
      if (apiName !== 'SaslHandshake') throw answer
      return { enabledMechanisms: [mechanism] }
    },
  }
  const authenticator = new Authenticator(connection, quiet, versions, true)
  return authenticator.authenticate().catch((error: unknown) => error)
}

describe('what Kafka refuses', () => {
  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])('is a wrong secret (%s)', async (mechanism) => {
    const error = await failedWith(mechanism, createErrorFromCode(SASL_AUTHENTICATION_FAILED))
    expect(preconditionErrorOf(error, 'plants')).toMatchObject({
      name: 'PreconditionError',
      fault: 'not-authorized',
    })
  })

  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
    'is not a secret that it did not come to look at (%s)',
    async (mechanism) => {
      for (const answer of [
        new KafkaJSConnectionClosedError('Closed connection', { host: 'kafka', port: 9092 }),
        new KafkaJSConnectionError('Connection error: read ECONNRESET', { broker: 'kafka:9092' }),
        new KafkaJSConnectionError('Not connected', { broker: 'kafka:9092' }),
        new KafkaJSRequestTimeoutError('Request SaslAuthenticate(key: 36, version: 1) timed out', {}),
      ]) {
        const error = await failedWith(mechanism, answer)
        expect(error).toMatchObject({ name: 'KafkaJSSASLAuthenticationError' })
        expect(preconditionErrorOf(error, 'plants')).toBe(error)
      }
    },
  )
})
