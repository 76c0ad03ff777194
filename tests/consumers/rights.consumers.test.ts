import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { consumeInto, newGroup } from '../support/consumed-plants.ts'
import { eventually } from '../support/eventually.ts'
import { openTopic } from '../support/open-topic.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTokenEndpoint } from '../support/token-endpoint.ts'
import { runExample } from './run-example.ts'

const USER = 'consumer'
const GROUP = newGroup()

const as = (username: string, password = PASSWORD) => ({
  sasl: { mechanism: 'plain' as const, username, password },
  connectWithinMs: 10_000,
})

describe('a Kafka that asks who is there', () => {
  let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
  let tokens: Awaited<ReturnType<typeof startTokenEndpoint>>
  beforeAll(async () => {
    tokens = await startTokenEndpoint(USER)
    kafka = await startSecuredKafka({ users: [USER], tokenKeysUrl: tokens.keysUrl })
    return async () => {
      tokens.close()
      await kafka.stop()
    }
  })

  it('is consumed with Read on the topic and on the group, and nothing else', async () => {
    const topic = await openTopic(2, kafka.brokers)
    const literal = { pattern: 'literal' } as const
    const ofGroup = { ...literal, resource: 'group', name: GROUP, operations: ['Read'] } as const
    await kafka.grant(USER, [{ ...literal, resource: 'topic', name: topic.topic, operations: ['Read'] }, ofGroup])
    await topic.append(20)
    const given = { brokers: kafka.sasl.split(','), groupId: GROUP }
    // Each broker applies an ACL a moment later.
    const consumer = await eventually(() => consumeInto(topic.topic, { ...given, ...as(USER) }))
    await eventually(() => expect(consumer.events).toHaveLength(20))
    await consumer.stop()
    await topic.append(5)
    const next = await consumeInto(topic.topic, { ...given, ...as(USER) })
    await eventually(() => expect(next.events).toHaveLength(5))

    await expect(consumeInto(topic.topic, { ...given, ...as(USER, 'wrong') })).rejects.toMatchObject({
      code: 'not-authorized',
      message: expect.stringContaining('Kafka refuses'),
    })
    const group = newGroup()
    await expect(consumeInto(topic.topic, { ...given, ...as(USER), groupId: group })).rejects.toMatchObject({
      code: 'not-authorized',
      message: expect.stringContaining(`Kafka refuses this user Read on group ${group}`),
    })
    const other = await openTopic(1, kafka.brokers)
    await expect(consumeInto(other.topic, { ...given, ...as(USER) })).rejects.toMatchObject({
      code: 'not-authorized',
    })

    await kafka.withdraw(USER, ofGroup)
    await topic.append(1)
    const seen = new Set<string>()
    await eventually(() => {
      for (const problem of next.problems()) seen.add(problem)
      expect(seen).toContain('waiting for the group to be joined')
    })
    // The commits are refused, and the member.
    const refusals = [...seen].filter((problem) => problem.includes('Kafka refuses'))
    expect(refusals).toEqual(refusals.map(() => expect.stringContaining(GROUP)))
    expect(refusals).not.toEqual([])
  })

  // The library reads the settings of the first two, as of the services, whose logins logins.secured tries.
  it.each([
    ['own-table', 1, (file: string) => ['--table', file, 'follow', '--until-end']],
    ['own-table', 1, (file: string) => ['--table', file, 'rebuild']],
    ['python', 4, (file: string) => ['--store', file, 'follow', '--until-end']],
    ['java', 4, (file: string) => ['dump', file]],
  ])('lets the example %s in by its settings, in %i ways', async (name, ways, toRead) => {
    const topic = await openTopic(3, kafka.brokers)
    await topic.append(3)
    await kafka.allowAll(USER)
    // The broker lets the user in a moment later.
    await eventually(() => consumeInto(topic.topic, { brokers: kafka.sasl.split(','), ...as(USER) }))
    const folder = temporaryFolder()
    const certified = kafka.authority.issue(name, USER)
    const tls = { PLANTS_TOPIC: topic.topic, KAFKA_SSL_CA_FILE: kafka.authority.ca }
    const sasl = { ...tls, KAFKA_BROKERS: kafka.saslTls, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL' }
    const password = { ...sasl, KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD }
    const logins = [
      { ...password, KAFKA_SASL_MECHANISM: 'PLAIN' },
      { ...password, KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' },
      {
        ...{ ...sasl, KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_OAUTH_TOKEN_URL: tokens.url },
        ...{ KAFKA_SASL_OAUTH_CLIENT_ID: USER, KAFKA_SASL_OAUTH_CLIENT_SECRET: tokens.secret() },
      },
      {
        ...{ ...tls, KAFKA_BROKERS: kafka.tls, KAFKA_SECURITY_PROTOCOL: 'SSL' },
        ...{ KAFKA_SSL_CERT_FILE: certified.cert, KAFKA_SSL_KEY_FILE: certified.key },
      },
    ]
    for (const [n, settings] of logins.slice(0, ways).entries()) {
      const lines = await runExample(name, toRead(join(folder, String(n))), settings)
      expect(lines.at(-1)).toMatch(/"plants":\s?3\b|3 plants are in the table/)
    }
  })
})
