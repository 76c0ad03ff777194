import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { SERVICE_SETTINGS, tableOf } from '../stores/store-settings.ts'
import { PreconditionError } from './failures.ts'
import { HOST_PORT } from './host-port.ts'
import { Port, readSettings } from './settings.ts'

const Settings = Type.Object({
  ...SERVICE_SETTINGS,
  PORT: Port(3000),
  NOTE: Type.Optional(Type.String({ pattern: '^[a-z]+$', expected: 'lower-case letters' })),
})
const GOOD = { KAFKA_BROKERS: '127.0.0.1:9092', REDIS_URL: 'redis://127.0.0.1:6379' }
const isAddress = new RegExp(HOST_PORT)
const read = (env: NodeJS.ProcessEnv) => readSettings(Settings, env)
function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    read(env)
  } catch (error) {
    expect(error).toBeInstanceOf(PreconditionError)
    return (error as Error).message
  }
  return ''
}

it('the topic of the table is another than that of the log', () => {
  const same = { PLANTS_TOPIC: 'plants', PLANTS_TABLE: 'plants' }
  expect(() => tableOf(same)).toThrow('PLANTS_TABLE must not be the topic of the log: it is plants')
})

it('the name of the table has the length that Kafka allows', () => {
  const of = (length: number) => tableOf({ PLANTS_TOPIC: 'p'.repeat(length), PLANTS_TABLE: 'on' })
  expect(of(243)).toHaveLength(249)
  expect(() => of(244)).toThrow('PLANTS_TABLE=on makes a name of 250 characters')
})

it.each(['a', '.a', 'a.', '-', '...', 'p'.repeat(249)])('a topic of Kafka may have the name %s', (name) => {
  expect(read({ ...GOOD, PLANTS_TOPIC: name })).toMatchObject({ PLANTS_TOPIC: name })
})

it('the port of an address is from 1 to 65535', () => {
  const accepted = Array.from({ length: 100_000 }, (_, port) => port).filter((port) => isAddress.test(`kafka:${port}`))
  expect([accepted.at(0), accepted.at(-1), accepted.length]).toEqual([1, 65_535, 65_535])
})

describe('settings', () => {
  it('have defaults, except the addresses of Kafka and Redis, and include no other variables', () => {
    expect(read({ ...GOOD, PATH: '/bin' })).toEqual({
      ...GOOD,
      KAFKA_SECURITY_PROTOCOL: 'PLAINTEXT',
      PLANTS_TOPIC: 'plants',
      PLANTS_PARTITIONS: 12,
      PLANTS_TABLE: 'off',
      EVENT_SOURCE: '/plants',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      PORT: 3000,
    })
  })

  it('are read from the environment, numbers as numbers', () => {
    const env = { ...GOOD, PLANTS_PARTITIONS: '6', PORT: '0', HOST: '0.0.0.0', NOTE: 'abc' }
    expect(read(env)).toMatchObject({ PLANTS_PARTITIONS: 6, PORT: 0, HOST: '0.0.0.0', NOTE: 'abc' })
  })

  it('count as unset when they are empty', () => {
    const empty = { PLANTS_TOPIC: '', PORT: '', NOTE: '' }
    expect(read({ ...GOOD, ...empty })).toEqual(read(GOOD))
    expect(read({ ...GOOD, REDIS_URL: '' })).not.toHaveProperty('REDIS_URL')
    expect(messageOf({ ...GOOD, KAFKA_BROKERS: '' })).toMatch(/KAFKA_BROKERS is missing/)
  })

  it('may be optional, but not invalid', () => {
    expect(read(GOOD)).not.toHaveProperty('NOTE')
    expect(messageOf({ ...GOOD, NOTE: '7' })).toBe('settings: NOTE must be lower-case letters (it is "7")')
  })

  it('report every missing setting, with what is expected', () => {
    const schema = Type.Object({ A: Type.String({ expected: 'a word' }), B: Port(0), C: Type.Integer() })
    expect(() => readSettings(schema, {})).toThrow(
      'settings: A is missing: set it to a word; C is missing: set it to a value',
    )
  })

  it.each([
    ['PORT', '-1', 'PORT must be a whole number from 0 to 65535 (it is "-1")'],
    ['PORT', '65536', 'PORT must be a whole number from 0 to 65535 (it is "65536")'],
    ['PORT', '80a', 'PORT must be a whole number from 0 to 65535 (it is "80a")'],
    ['PORT', '1.5', 'PORT must be a whole number from 0 to 65535 (it is "1.5")'],
    ['PORT', 'true', 'PORT must be a whole number from 0 to 65535 (it is "true")'],
    ['PLANTS_PARTITIONS', '0', 'PLANTS_PARTITIONS must be a whole number from 1 to 1000 (it is "0")'],
    ['PLANTS_PARTITIONS', ' ', 'PLANTS_PARTITIONS must be a whole number from 1 to 1000 (it is " ")'],
    ['PLANTS_TOPIC', 'a b', 'PLANTS_TOPIC must be a Kafka topic name (it is "a b")'],
    ['PLANTS_TOPIC', '.', 'PLANTS_TOPIC must be a Kafka topic name (it is ".")'],
    ['PLANTS_TABLE', '..', 'PLANTS_TABLE must be on, off or a Kafka topic name (it is "..")'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be debug or info or warn or error (it is "loud")'],
    ['KAFKA_BROKERS', 'kafka', 'KAFKA_BROKERS must be host:port, or several separated by commas (it is "kafka")'],
    ['KAFKA_BROKERS', 'a:1,', 'KAFKA_BROKERS must be host:port, or several separated by commas (it is "a:1,")'],
    ['KAFKA_BROKERS', '::1:9', 'KAFKA_BROKERS must be host:port, or several separated by commas (it is "::1:9")'],
    ['KAFKA_BROKERS', '[a]:9', 'KAFKA_BROKERS must be host:port, or several separated by commas (it is "[a]:9")'],
    ['KAFKA_BROKERS', 'a:0', 'KAFKA_BROKERS must be host:port, or several separated by commas (it is "a:0")'],
    [
      'REDIS_CLUSTER_NODES',
      'a:1,b:65536',
      'REDIS_CLUSTER_NODES must be host:port, or several separated by commas (it is "a:1,b:65536")',
    ],
  ])('reject the invalid value %s=%s', (name, value, message) => {
    expect(messageOf({ ...GOOD, [name]: value })).toBe(`settings: ${message}`)
  })

  it.each(['[::1]:9092', '[::1]:9092,kafka:9092', '[fe80::1%eth0]:9092,127.0.0.1:9092'])(
    'accept IPv6: %s',
    (brokers) => {
      expect(read({ ...GOOD, KAFKA_BROKERS: brokers })).toMatchObject({ KAFKA_BROKERS: brokers })
    },
  )

  it.each(['/p', '/plants/eu', 'https://plants.example:8443/eu', 'urn:plants:eu-1', `/${'p'.repeat(99)}`])(
    'accept a source of events that a path segment can follow: %s',
    (source) => expect(read({ ...GOOD, EVENT_SOURCE: source })).toMatchObject({ EVENT_SOURCE: source }),
  )

  it.each(['/', 'plants', '/plants/', 'urn:', '/a b', '/plants?eu', '/plants#eu', '/plants\n', `/${'p'.repeat(100)}`])(
    'reject another source of events: %j',
    (source) => expect(messageOf({ ...GOOD, EVENT_SOURCE: source })).toMatch(/^settings: EVENT_SOURCE must be a URI,/),
  )

  it('report every invalid setting at once', () => {
    expect(messageOf({ ...GOOD, PORT: 'x', PLANTS_PARTITIONS: 'y' })).toMatch(/PLANTS_PARTITIONS must.*; PORT must/)
  })

  it('never print a value that may hold a password', () => {
    const message = messageOf({ ...GOOD, REDIS_URL: 'http://user:hunter2@redis:6379' })
    expect(message).toBe('settings: REDIS_URL must be redis://host:port or rediss://user:password@host:port')
  })

  it('are shortened in messages', () => {
    expect(messageOf({ ...GOOD, PORT: 'x'.repeat(1_000) }).length).toBeLessThan(200)
  })
})
