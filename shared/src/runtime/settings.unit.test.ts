import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { SERVICE_SETTINGS, tableOf } from '../stores/store-settings.ts'
import { PreconditionError } from './failures.ts'
import { Port, readSettings } from './settings.ts'

const Settings = Type.Object({
  ...SERVICE_SETTINGS,
  PORT: Port(3000),
  NOTE: Type.Optional(Type.String({ pattern: '^[a-z]+$', expected: 'lower-case letters' })),
})
const GOOD = { KAFKA_BROKERS: '127.0.0.1:9092', REDIS_URL: 'redis://127.0.0.1:6379' }
const read = (env: NodeJS.ProcessEnv) => readSettings(Settings, env)
function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    read({ ...GOOD, ...env })
  } catch (error) {
    expect(error).toBeInstanceOf(PreconditionError)
    return (error as Error).message
  }
  return ''
}

it('settings have defaults, except the addresses of Kafka and Redis, and include no other variables', () => {
  expect(read({ ...GOOD, PATH: '/bin' })).toEqual({
    ...{ ...GOOD, KAFKA_SECURITY_PROTOCOL: 'PLAINTEXT', EVENT_SOURCE: '/plants' },
    ...{ PLANTS_TOPIC: 'plants', PLANTS_PARTITIONS: 12, PLANTS_TABLE: 'off' },
    ...{ HOST: '127.0.0.1', PORT: 3000, LOG_LEVEL: 'info' },
  })
})

it('settings are read from the environment, numbers as numbers, and count as unset when they are empty', () => {
  const env = { ...GOOD, PLANTS_PARTITIONS: '6', PORT: '0', HOST: '0.0.0.0', NOTE: 'abc' }
  expect(read(env)).toMatchObject({ PLANTS_PARTITIONS: 6, PORT: 0, HOST: '0.0.0.0', NOTE: 'abc' })
  expect(read({ ...GOOD, PLANTS_TOPIC: '', PORT: '', NOTE: '' })).toEqual(read(GOOD))
})

it('all missing and invalid settings are reported at once, with what is expected, in few characters', () => {
  const schema = Type.Object({ A: Type.String({ expected: 'a word' }), B: Port(0), C: Type.Integer() })
  expect(() => readSettings(schema, { A: '', B: 'x'.repeat(1_000) })).toThrow(
    /^settings: A is missing: set it to a word; B must be .{1,150}; C is missing: set it to a value$/,
  )
})

const BROKERS = 'KAFKA_BROKERS must be host:port, or several separated by commas'
it.each([
  ...['-1', '65536', '80a', '1.5', 'true'].map((it) => ['PORT', it, 'PORT must be a whole number from 0 to 65535']),
  ...['0', ' '].map((it) => ['PLANTS_PARTITIONS', it, 'PLANTS_PARTITIONS must be a whole number from 1 to 1000']),
  ['PLANTS_TOPIC', 'a b', 'PLANTS_TOPIC must be a Kafka topic name'],
  ['PLANTS_TOPIC', '.', 'PLANTS_TOPIC must be a Kafka topic name'],
  ['PLANTS_TABLE', '..', 'PLANTS_TABLE must be on, off or a Kafka topic name'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be debug or info or warn or error'],
  ['NOTE', '7', 'NOTE must be lower-case letters'],
  ...['kafka', 'a:1,', '[a]:9'].map((it) => ['KAFKA_BROKERS', it, BROKERS]),
])('the invalid value %s=%s is rejected', (name, value, message) => {
  expect(messageOf({ [name as string]: value })).toBe(`settings: ${message} (it is "${value}")`)
})

it('a value that may hold a password is never printed', () => {
  const message = messageOf({ REDIS_URL: 'http://user:hunter2@redis:6379' })
  expect(message).toBe('settings: REDIS_URL must be redis://host:port or rediss://user:password@host:port')
})

it.each([
  ...['[::1]:9092', '[fe80::1%eth0]:9092,127.0.0.1:9092'].map((brokers) => ['KAFKA_BROKERS', brokers]),
  ...['/p', 'https://plants.example:8443/eu', 'urn:plants:eu-1', `/${'p'.repeat(99)}`].map((of) => [
    'EVENT_SOURCE',
    of,
  ]),
  ...['a', '.a', 'a.', '-', '...', 'p'.repeat(249)].map((topic) => ['PLANTS_TOPIC', topic]),
])('%s may be %s', (name, value) => {
  expect(read({ ...GOOD, [name as string]: value })).toMatchObject({ [name as string]: value })
})

// A path segment is appended to it.
it.each(['/', 'plants', '/plants/', 'urn:', '/a b', '/plants?eu', '/plants#eu', '/plants\n', `/${'p'.repeat(100)}`])(
  'the source of events is not %j',
  (source) => expect(messageOf({ EVENT_SOURCE: source })).toMatch(/^settings: EVENT_SOURCE must be a URI,/),
)

it('the topic of the table is another than that of the log, and its name has the length that Kafka allows', () => {
  const same = { PLANTS_TOPIC: 'plants', PLANTS_TABLE: 'plants' }
  expect(() => tableOf(same)).toThrow('PLANTS_TABLE must not be the topic of the log: it is plants')
  const of = (length: number) => tableOf({ PLANTS_TOPIC: 'p'.repeat(length), PLANTS_TABLE: 'on' })
  expect(of(243)).toHaveLength(249)
  expect(() => of(244)).toThrow('PLANTS_TABLE=on makes a name of 250 characters')
})
