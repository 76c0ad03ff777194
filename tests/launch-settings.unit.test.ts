import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stopGraceMs } from '../local/launch/service.ts'
import { portsOf, readSettings } from '../local/launch/settings.ts'
import { root } from '../local/places.mjs'

const external = { KAFKA_BROKERS: 'kafka:9092', REDIS_URL: 'redis://redis:6379' }
const portNumbers = (...settings: Parameters<typeof readSettings>) =>
  portsOf(readSettings(...settings)).map(({ port }) => port)
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

it('the default addresses of npm start, docker compose and the documents are the same', () => {
  const { port, opsPort, kafkaPort, redisPort } = readSettings({})
  const compose = textOf('docker-compose.yml')
  const ports = { PORT: port, OPS_PORT: opsPort, KAFKA_PORT: kafkaPort, REDIS_PORT: redisPort }
  for (const [name, value] of Object.entries(ports)) {
    expect(compose).toContain(`127.0.0.1:\${${name}:-${value}}:`)
  }
  const kafka = `localhost:${kafkaPort}`
  const documents = ['docs/asyncapi.yaml', 'docs/how-to/consume-events.md', 'shared/README.md', 'examples/run.ts']
  for (const document of documents) {
    expect(textOf(document)).toContain(kafka)
    expect(textOf(document)).not.toMatch(/localhost:9092\b(?! \\$)/m)
  }
})

it('--port moves all ports by the same distance, except those with a setting', () => {
  const [before, moved] = [portNumbers({}), portNumbers({ PORT: '3000' }, { port: '4000' })]
  expect(moved).toEqual(before.map((port) => port + 1000))
  expect(readSettings({ KAFKA_PORT: '9092' }, { port: '4000' })).toMatchObject({ kafkaPort: 9092, redisPort: 17379 })
  expect(portNumbers(external)).toEqual([3000, 3100, 3101])
})

it.each([
  [{}, { port: '60000' }, /KAFKA_PORT must be a whole number from 1 to \d+ \(it is "76092"\)/],
  [{ REDIS_PORT: '3101' }, {}, '3101 is the port of both the operations of the projector'],
])('ports that cannot be used are refused: %j %j', (settings, options, reason) => {
  expect(() => readSettings(settings, options)).toThrow(reason)
})

it.each([
  { kind: 'api', drainMs: 20_000, ownLimitMs: 28_500 },
  { kind: 'projector', drainMs: 20_000, ownLimitMs: 9_000 },
] as const)('a service is killed only after its own limit: %j', ({ kind, drainMs, ownLimitMs }) => {
  expect(stopGraceMs(kind, { DRAIN_MS: String(drainMs) })).toBeGreaterThan(ownLimitMs)
})
