import { describe, expect, it } from 'vitest'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { preconditionErrorOf } from './broker-errors.ts'

const Authenticator = kafkajsModule('src/broker/saslAuthenticator/index.js')
const { KafkaJSConnectionClosedError, KafkaJSConnectionError, KafkaJSRequestTimeoutError } =
  kafkajsModule('src/errors.js')
const { createErrorFromCode } = kafkajsModule('src/protocol/error.js')
const SASL_AUTHENTICATION_FAILED = 58

/** The error of kafkajs when authentication ends with this error instead of a response. */
async function failedWith(mechanism: string, failure: Error): Promise<unknown> {
  const quiet = { debug() {}, error() {}, namespace: () => quiet }
  const versions = { 17: { minVersion: 0, maxVersion: 1 }, 36: { minVersion: 0, maxVersion: 1 } }
  const connection = {
    sasl: { mechanism, username: 'name', password: 'secret' },
    async send({ request: { apiName } }: { request: { apiName: string } }) {
      if (apiName !== 'SaslHandshake') throw failure
      return { enabledMechanisms: [mechanism] }
    },
  }
  const authenticator = new Authenticator(connection, quiet, versions, true)
  return authenticator.authenticate().catch((error: unknown) => error)
}

describe('an authentication error', () => {
  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
    'is a PreconditionError when the password is wrong (%s)',
    async (mechanism) => {
      const error = await failedWith(mechanism, createErrorFromCode(SASL_AUTHENTICATION_FAILED))
      expect(preconditionErrorOf(error, { topic: 'plants' })).toMatchObject({
        name: 'PreconditionError',
        fault: 'not-authorized',
      })
    },
  )

  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
    'is passed on when the connection was lost before the broker checked the password (%s)',
    async (mechanism) => {
      for (const failure of [
        new KafkaJSConnectionClosedError('Closed connection', { host: 'kafka', port: 9092 }),
        new KafkaJSConnectionError('Connection error: read ECONNRESET', { broker: 'kafka:9092' }),
        new KafkaJSConnectionError('Not connected', { broker: 'kafka:9092' }),
        new KafkaJSRequestTimeoutError('Request SaslAuthenticate(key: 36, version: 1) timed out', {}),
      ]) {
        const error = await failedWith(mechanism, failure)
        expect(error).toMatchObject({ name: 'KafkaJSSASLAuthenticationError' })
        expect(preconditionErrorOf(error, { topic: 'plants' })).toBe(error)
      }
    },
  )
})
