import { expect, it } from 'vitest'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { AppendRefused, preconditionErrorOf, reasonOf, refusedAppend } from './broker-errors.ts'

const Authenticator = kafkajsModule('src/broker/saslAuthenticator/index.js')
const {
  KafkaJSConnectionClosedError,
  KafkaJSConnectionError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSRequestTimeoutError,
} = kafkajsModule('src/errors.js')
const { createErrorFromCode, errorCodes } = kafkajsModule('src/protocol/error.js')
const SASL_AUTHENTICATION_FAILED = 58
const at = { broker: 'kafka:9092' }

/** The error of kafkajs when a login ends with this error instead of a response. */
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

it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
  'a failed login is a PreconditionError only when the broker has checked the password (%s)',
  async (mechanism) => {
    const refused = await failedWith(mechanism, createErrorFromCode(SASL_AUTHENTICATION_FAILED))
    const expected = { name: 'PreconditionError', fault: 'not-authorized' }
    expect(preconditionErrorOf(refused, { topic: 'plants' })).toMatchObject(expected)
    for (const lost of [
      new KafkaJSConnectionClosedError('Closed connection', { host: 'kafka', port: 9092 }),
      ...['Connection error: read ECONNRESET', 'Not connected'].map((text) => new KafkaJSConnectionError(text, at)),
      new KafkaJSRequestTimeoutError('Request SaslAuthenticate(key: 36, version: 1) timed out', {}),
    ]) {
      const error = await failedWith(mechanism, lost)
      expect(error).toMatchObject({ name: 'KafkaJSSASLAuthenticationError' })
      expect(preconditionErrorOf(error, { topic: 'plants' })).toBe(error)
    }
  },
)

const kindOf = (errorCode: number, baseOffset: string) => refusedAppend({ errorCode, baseOffset }, 'plants')?.[0]

it.each([
  ['records', [10, 18, 32, 87]],
  ['permanent', [17, 29, 43]],
  ['transient', [2, 3, 5, 6, 19, 100]],
  // UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND, KAFKA_STORAGE_ERROR, any other
  [undefined, [-1, 7, 20, 56, 42, 999]],
])('the code of a partition says that nothing was written, unless the leader has a base offset: %s', (kind, codes) => {
  for (const code of codes) {
    expect(kindOf(code, '-1'), `code ${code}`).toBe(kind)
    expect(kindOf(code, '17'), `code ${code}`).toBeUndefined()
  }
})

const retried = (error: Error) => new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 1 })
const certificate = (code: string) => new KafkaJSConnectionError('Connection error: certificate', { ...at, code })

it.each<[Error, RegExp]>([
  [
    new KafkaJSConnectionError('Connection error: connect ECONNREFUSED 10.0.0.1', at),
    /^Kafka at kafka:9092 is not rea/,
  ],
  [retried(new KafkaJSConnectionClosedError('Closed connection', { host: 'kafka', port: 9092 })), /is not reachable: /],
  [new Error('Broker not connected'), /^Kafka is not reachable: check that it runs and that KAFKA_BROKERS is right$/],
  [retried(new KafkaJSRequestTimeoutError('Request timed out', at)), /^Kafka at kafka:9092 does not respond .*: check/],
  [
    certificate('CERT_HAS_EXPIRED'),
    /^the certificate of kafka:9092 has expired or is not .*: renew it, or correct the/,
  ],
  [certificate('CERT_NOT_YET_VALID'), /: renew it, or correct the clock/],
  [certificate('INVALID_PURPOSE'), /^the certificate of kafka:9092 is not accepted .*: correct KAFKA_SSL_CA_FILE$/],
  [createErrorFromCode(29), /^Kafka refuses this user Describe on topic plants: add the ACL$/],
  [new KafkaJSNonRetriableError('Some text'), /^the Kafka client fails \(KafkaJSNonRetriableError\): the log has/],
  [createErrorFromCode(3), /^Kafka does not know the topic \(UNKNOWN_TOPIC_OR_PARTITION\): check/],
  ...errorCodes
    .filter(({ type }: { type: string }) => !/AUTHORIZATION|SASL/.test(type))
    .map(({ type, code }: { type: string; code: number }): [Error, RegExp] => [
      createErrorFromCode(code),
      new RegExp(`\\(${type}\\): |^Kafka responds with ${type}: see the logs of the brokers$`),
    ]),
])(
  'the reason of an error is one of a closed set, with the remedy and without text of the client: %s',
  (error, reason) => {
    expect(reasonOf(error, { topic: 'plants' })).toMatch(reason)
    expect(reasonOf(error, { topic: 'plants' })).not.toContain(error.message)
  },
)

it.each([
  // It knows the right that is missing.
  new AppendRefused('Kafka refuses this user Write: add the ACL', { cause: createErrorFromCode(29) }),
  new RangeError('offset -1 is no offset'),
])('the reason of an error is its message: %s', (error) => {
  expect(reasonOf(error)).toBe(error.message)
})
