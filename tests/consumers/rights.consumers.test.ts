import { writeFileSync } from 'node:fs'
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

    const [other, group] = [await openTopic(1, kafka.brokers), newGroup()]
    for (const [where, options, message] of [
      [topic, as(USER, 'wrong'), 'Kafka refuses'],
      [topic, { ...as(USER), groupId: group }, `Kafka refuses this user Read on group ${group}`],
      [other, as(USER), 'Kafka refuses'],
    ] as const)
      await expect(consumeInto(where.topic, { ...given, ...options })).rejects.toMatchObject({
        code: 'not-authorized',
        message: expect.stringContaining(message),
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

  // The library reads the settings of the services, whose logins logins.secured tries; the others have a file.
  it.each([
    ['own-table', (file: string) => ['--table', file, 'follow', '--until-end']],
    ['own-table', (file: string) => ['--table', file, 'rebuild']],
    ['python', (file: string) => ['--store', file, 'follow', '--until-end']],
    ['java', (file: string) => ['dump', file]],
  ])('lets the example %s in by its settings', async (name, toRead) => {
    const topic = await openTopic(3, kafka.brokers)
    await topic.append(3)
    await kafka.allowAll(USER)
    // The broker lets the user in a moment later.
    await eventually(() => consumeInto(topic.topic, { brokers: kafka.sasl.split(','), ...as(USER) }))
    const folder = temporaryFolder()
    const env = {
      ...{ KAFKA_BROKERS: kafka.saslTls, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SSL_CA_FILE: kafka.authority.ca },
      ...{ KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD },
      ...{ PLANTS_TOPIC: topic.topic, KAFKA_PROPERTIES_FILE: join(folder, 'client.properties') },
      JAVA_TOOL_OPTIONS: `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${tokens.url}`,
    }
    const { [name]: login = [] } = loginsOf(kafka.authority.ca, tokens.url, tokens.secret())
    writeFileSync(env.KAFKA_PROPERTIES_FILE, login.join('\n'))
    const lines = await runExample(name, toRead(join(folder, 'plants')), env)
    expect(lines.at(-1)).toMatch(/"plants":\s?3\b|3 plants are in the table/)
  })
})

const OAUTH = ['security.protocol=SASL_SSL', 'sasl.mechanism=OAUTHBEARER']
const MODULE = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLogin'

/** The settings of each client for a login by token. */
const loginsOf = (ca: string, url: string, secret: string): Record<string, string[]> => ({
  python: [
    ...[...OAUTH, 'sasl.oauthbearer.method=oidc', `sasl.oauthbearer.token.endpoint.url=${url}`],
    ...[`sasl.oauthbearer.client.id=${USER}`, `sasl.oauthbearer.client.secret=${secret}`, `ssl.ca.location=${ca}`],
  ],
  java: [
    ...[...OAUTH, `sasl.login.callback.handler.class=${MODULE}CallbackHandler`],
    ...[`sasl.jaas.config=${MODULE}Module required;`, `sasl.oauthbearer.token.endpoint.url=${url}`],
    `sasl.oauthbearer.client.credentials.client.id=${USER}`,
    `sasl.oauthbearer.client.credentials.client.secret=${secret}`,
    ...['ssl.truststore.type=PEM', `ssl.truststore.location=${ca}`],
  ],
})
