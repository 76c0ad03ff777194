import { describe, expect, it } from 'vitest'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { AppendRefused, preconditionErrorOf, reasonOf, refusedAppend } from './broker-errors.ts'

const Authenticator = kafkajsModule('src/broker/saslAuthenticator/index.js')
const {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionClosedError,
  KafkaJSConnectionError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSRequestTimeoutError,
} = kafkajsModule('src/errors.js')
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

describe('the code of a partition in a produce response', () => {
  const kindOf = (errorCode: number, baseOffset: string) => refusedAppend({ errorCode, baseOffset }, 'plants')?.[0]

  it.each([
    ['records', [10, 18, 32, 87]],
    ['permanent', [17, 29, 43]],
    ['transient', [2, 3, 5, 6, 19, 100]],
    // UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND, KAFKA_STORAGE_ERROR, any other
    [undefined, [-1, 7, 20, 56, 42, 999]],
  ])('says that nothing was written: %s', (kind, codes) => {
    for (const code of codes) expect(kindOf(code, '-1'), `code ${code}`).toBe(kind)
  })

  it('says nothing when the leader had written the records before it lost the partition', () => {
    for (const code of [3, 6, 7, 20]) expect(kindOf(code, '17')).toBeUndefined()
  })
})

describe('the reason of an error', () => {
  const at = { broker: 'kafka:9092' }
  const retried = (error: Error) => new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 1 })
  const away = /^Kafka at kafka:9092 is not reachable: check that it runs and that KAFKA_BROKERS is right$/
  it.each<[Error, RegExp]>([
    [new KafkaJSConnectionError('Connection error: connect ECONNREFUSED 10.0.0.1:9092', at), away],
    [retried(new KafkaJSConnectionClosedError('Closed connection', { host: 'kafka', port: 9092 })), away],
    [new Error('Broker not connected'), /^Kafka is not reachable: check that it runs and that KAFKA_BROKERS is right$/],
    [new KafkaJSBrokerNotFound('Broker 1 not found in the cached metadata'), /^Kafka is not reachable: check/],
    [
      retried(new KafkaJSRequestTimeoutError('Request Metadata(key: 3, version: 6) timed out', at)),
      /^Kafka at kafka:9092 does not respond \(timed out\): check that it runs and is not overloaded$/,
    ],
    ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'].map((code): [Error, RegExp] => [
      new KafkaJSConnectionError('Connection error: certificate', { ...at, code }),
      new RegExp(
        `^the certificate of kafka:9092 has expired or is not valid yet \\(${code}\\): renew it, or correct the`,
      ),
    ]),
    [
      new KafkaJSConnectionError('Connection error: unsuitable certificate purpose', {
        ...at,
        code: 'INVALID_PURPOSE',
      }),
      /^the certificate of kafka:9092 is not accepted \(INVALID_PURPOSE\): correct KAFKA_SSL_CA_FILE$/,
    ],
    [
      createErrorFromCode(19),
      /^Kafka has too few in-sync replicas \(NOT_ENOUGH_REPLICAS\): restore the brokers that are/,
    ],
    [createErrorFromCode(3), /^Kafka does not know the topic \(UNKNOWN_TOPIC_OR_PARTITION\): check/],
    [createErrorFromCode(17), /^Kafka accepts no topic of this name \(INVALID_TOPIC_EXCEPTION\): correct it/],
    [createErrorFromCode(5), /^Kafka elects a leader \(LEADER_NOT_AVAILABLE\): wait/],
    [createErrorFromCode(14), /^Kafka loads the consumer group \(GROUP_LOAD_IN_PROGRESS\): wait$/],
    [createErrorFromCode(15), /^Kafka has no coordinator .* \(GROUP_COORDINATOR_NOT_AVAILABLE\): wait, or restore/],
    [createErrorFromCode(16), /^the consumer group gets another coordinator \(NOT_COORDINATOR_FOR_GROUP\): wait$/],
    [createErrorFromCode(23), /^another program uses the consumer group \(INCONSISTENT_GROUP_PROTOCOL\): name/],
    [createErrorFromCode(27), /^the consumer group rebalances \(REBALANCE_IN_PROGRESS\): wait/],
    [createErrorFromCode(25), /^the consumer group has expelled this process \(UNKNOWN_MEMBER_ID\): .*heartbeat/],
    [createErrorFromCode(2), /^Kafka responds with CORRUPT_MESSAGE: see the logs of the brokers$/],
    [createErrorFromCode(29), /^Kafka refuses this user Describe on topic plants: add the ACL$/],
    [new KafkaJSNonRetriableError('Some text'), /^the Kafka client fails \(KafkaJSNonRetriableError\): the log has/],
  ])('is one of a closed set, with the remedy and without text of the client: %s', (error, reason) => {
    expect(reasonOf(error, { topic: 'plants' })).toMatch(reason)
    expect(reasonOf(error, { topic: 'plants' })).not.toContain(error.message)
  })

  it('is the one of a refused append, which knows the right that is missing', () => {
    const text = 'Kafka refuses this user Write on topic plants.table: add the ACL'
    expect(reasonOf(new AppendRefused(text, { cause: createErrorFromCode(29) }))).toBe(text)
  })

  it('is the message of any other error', () => {
    expect(reasonOf(new RangeError('offset -1 is no offset'))).toBe('offset -1 is no offset')
  })
})
