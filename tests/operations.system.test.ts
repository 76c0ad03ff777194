import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPlant, errorOf, readPlant, send } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { scrape, sumOf } from './support/metrics-text.ts'
import { startOwnRedis } from './support/own-stores.ts'
import {
  openPlantStore,
  type PlantStore,
  type RunningApi,
  type RunningService,
  startApiAlone,
  TOKEN,
} from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { readRawRecords } from './support/raw-records.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const json = { 'content-type': 'application/json' }

let store: PlantStore
let api: RunningApi
let projector: RunningService

beforeAll(async () => {
  store = await openPlantStore()
  ;[api, projector] = await Promise.all([
    store.startApi({ LOG_LEVEL: 'debug' }),
    store.startProjector({ LOG_LEVEL: 'debug' }),
  ])
  return store.end
})

/** How much a metric grows while `task` runs, or a little after it: a response is counted when it was sent. */
async function growthOf(service: RunningService, task: () => Promise<unknown>) {
  const before = await scrape(service)
  await task()
  return (name: string, labels: Record<string, string>, by: number) =>
    eventually(async () => {
      const grown = (sumOf(await scrape(service), name, labels) ?? 0) - (sumOf(before, name, labels) ?? 0)
      expect([name, labels, grown]).toEqual([name, labels, by])
    })
}

/** The metrics that a section of the documentation has in its table, with their types. */
function documented(section: string): Map<string, string> {
  const text = readFileSync(new URL('../docs/reference/metrics.md', import.meta.url), 'utf8')
  const [table = ''] = text.split(`\n## ${section}\n`)[1]?.split('\n## ') ?? []
  return new Map(
    [...table.matchAll(/^\| `(\w+)` \| (\w+) \| \S.* \|$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
}

/** The entries that a service has logged so far. */
const logOf = ({ logFile }: RunningService) =>
  readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const linesOf = (service: RunningService, requestId: string) =>
  logOf(service).filter((line) => line.requestId === requestId)

const create = (id: bigint, headers: Record<string, string> = {}) => createPlant(api.url, id, `plant ${id}`, headers)

describe('the metrics', () => {
  it.each([
    ['an api', () => api, 'api'],
    ['a projector', () => projector, 'projector'],
  ])('of %s are those that the documentation has, by name and type', async (_service, service, section) => {
    await create(1n)
    const response = await fetch(`${service().opsUrl}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const typeLines = (await response.text()).matchAll(/^# TYPE (\w+) (\w+)$/gm)
    const served = [...typeLines].map(([, name = '', type = '']): [string, string] => [name, type])
    // Which of Node's own there are depends on the system.
    const own = served.filter(([name]) => !/^(nodejs|process)_/.test(name))
    expect(new Map(own)).toEqual(new Map([...documented(section), ...documented('Every process')]))
    expect(served.length - own.length).toBeGreaterThan(20)
  })

  it('count requests by method, route, status and error number, and time them by route', async () => {
    const requests = 'plant_store_http_requests_total'
    const untilGrown = await growthOf(api, async () => {
      await create(10n)
      await create(11n)
      await create(10n)
      await readPlant(api.url, 10n)
      await readPlant(api.url, 10n, { authorization: '' })
      await send(`${api.url}/plants`, { method: 'PUT' })
      await send(`${api.url}/plants/%zz`, {})
    })
    const post = { method: 'POST', route: '/plants' }
    const get = { method: 'GET', route: '/plants/:id' }
    await untilGrown(requests, { ...post, status: '200', error: '' }, 2)
    await untilGrown(requests, { ...post, status: '400', error: '40003' }, 1)
    await untilGrown(requests, { ...get, status: '200', error: '' }, 1)
    await untilGrown(requests, { ...get, status: '401', error: '40100' }, 1)
    await untilGrown(requests, { method: 'PUT', route: 'unknown', status: '405', error: '40500' }, 1)
    await untilGrown(requests, { method: 'GET', route: 'unknown', status: '404', error: '40400' }, 1)
    await untilGrown(requests, {}, 7)
    await untilGrown('plant_store_http_request_duration_seconds_count', post, 3)
    await untilGrown('plant_store_http_request_duration_seconds_count', get, 2)
    expect(sumOf(await scrape(api), 'plant_store_http_request_duration_seconds_sum', post)).toBeGreaterThan(0)
  })

  it('count connections, requests that cannot be read, and clients that left before their response', async () => {
    const gauge = async (name: string) => sumOf(await scrape(api), `plant_store_http_${name}`)
    const untilGrown = await growthOf(api, async () => {
      const { write, socket } = openRaw(api.url)
      await eventually(async () => expect(await gauge('connections')).toBeGreaterThan(0))
      // No log reaches this position: it waits.
      const head = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\nPlants-Position: 0-999999`
      write(`GET /plants/1 HTTP/1.1\r\n${head}\r\n\r\n`)
      await eventually(async () => expect(await gauge('requests_under_way')).toBe(1))
      // A client that only closed its sending side would still get a response.
      socket.resetAndDestroy()
      openRaw(api.url).write('nonsense\r\n\r\n')
    })
    await untilGrown('plant_store_http_requests_total', { route: '/plants/:id', status: '0' }, 1)
    await untilGrown('plant_store_http_unreadable_requests_total', {}, 1)
    await eventually(async () => expect(await gauge('requests_under_way')).toBe(0))
  })
})

describe('the log', () => {
  it('has a line for each request at debug: the request, its outcome, its duration and its caller', async () => {
    const id = randomUUID()
    const { response } = await create(500n, { 'x-request-id': id, traceparent: TRACEPARENT })
    await eventually(() => expect(linesOf(api, id)).toHaveLength(1))
    const position = String(response?.headers['plants-position'])
    expect(linesOf(api, id)[0]).toEqual({
      ...{ level: 'debug', name: 'api', msg: 'request completed', requestId: id, method: 'POST', route: '/plants' },
      ...{ status: 200, client: '127.0.0.1', caller: 'tests', position, traceparent: TRACEPARENT },
      ...{ durationMs: expect.any(Number), time: expect.any(String), pid: api.pid, hostname: expect.any(String) },
    })
    // The projector logs the same position.
    const [partition, offset] = position.split('-').map(Number) as [number, number]
    await eventually(() => {
      const applied = logOf(projector).filter(({ msg }) => msg === 'applied')
      const isIn = (line: Record<string, unknown>) =>
        line.partition === partition && Number(line.from) < offset && offset <= Number(line.to)
      expect(applied.filter(isIn)).toHaveLength(1)
    })
  })

  it.each([
    ['no token', 401, 'GET', '/plants/1', { authorization: '' }, ''],
    ['a body too large', 413, 'POST', '/plants', json, 'x'.repeat(70_000)],
    ['a position that no log has', 503, 'GET', '/plants/1', { 'plants-position': '0-999999' }, ''],
  ])('and the response have the id of a request with %s', async (_what, status, method, path, more: object, body) => {
    const id = randomUUID()
    const response = await send(`${api.url}${path}`, { method, body, headers: { ...more, 'x-request-id': id } })
    expect([response?.status, response?.headers['x-request-id']]).toEqual([status, id])
    await eventually(() => expect(linesOf(api, id)).toMatchObject([{ method, status }]))
  })

  it('never contains tokens, keys or plants', async () => {
    const secrets = { ...json, 'idempotency-key': 'secret-key', traceparent: 'secret-trace' }
    const body = '{"id":501,"name":"secret-name","tag":"secret-tag","other":"secret-field"}'
    for (const more of [{}, { authorization: 'Bearer secret-token' }, { 'plants-position': 'secret-place' }]) {
      const headers = { ...secrets, ...more } as Record<string, string>
      for (const sent of [body, body.slice(0, -1)])
        await send(`${api.url}/plants`, { method: 'POST', headers, body: sent })
      await send(`${api.url}/plants/secret-id?secret-query`, { headers })
    }
    const id = randomUUID()
    await readPlant(api.url, 1n, { 'x-request-id': id })
    await eventually(() => expect(linesOf(api, id)).toHaveLength(1))
    for (const { logFile } of [api, projector]) expect(readFileSync(logFile, 'utf8')).not.toMatch(/secret/i)
  })

  it('has one line at info for each request that the service failed, with the cause, and none for others', async () => {
    const redis = await startOwnRedis()
    const { api: quiet } = await startApiAlone({ redisUrl: redis.url, api: { READ_DEADLINE_MS: '100' } })
    const [created, refused, failed, unread] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const send = async (id: bigint, requestId: string) =>
      (await createPlant(quiet.url, id, 'secret-name', { 'x-request-id': requestId })).response
    expect((await send(1n, created))?.status).toBe(200)
    expect((await send(1n, refused))?.status).toBe(400)
    await redis.stop()
    await eventually(async () => {
      const samples = await scrape(quiet)
      const found = ['plant_store_api_ready', 'plant_store_read_model_reachable'].map((name) => sumOf(samples, name))
      expect(found).toEqual([0, 0])
    })
    expect(errorOf(await send(2n, failed))).toBe(50301)
    expect(errorOf(await readPlant(quiet.url, 3n, { 'x-request-id': unread }))).toBe(50303)
    const problems = expect.arrayContaining(['redis: not reachable'])
    const common = { level: 'warn', msg: 'request failed', status: 503, caller: 'tests', problems }
    await eventually(() => expect(linesOf(quiet, unread)).toHaveLength(1))
    expect(linesOf(quiet, unread)).toMatchObject([
      { ...common, error: 50303, failure: 'coverageGap', method: 'GET', route: '/plants/:id' },
    ])
    const err = { type: expect.any(String), message: expect.any(String), stack: expect.any(String) }
    expect(linesOf(quiet, failed)).toMatchObject([
      { ...common, error: 50301, failure: 'notWritten', method: 'POST', route: '/plants', err },
    ])
    expect([...linesOf(quiet, created), ...linesOf(quiet, refused)]).toEqual([])
    expect(readFileSync(quiet.logFile, 'utf8')).not.toContain('secret-name')
  })
})

it('the trace context of a create is stored in its event, and a retry from another trace is the same create', async () => {
  const retried = { 'idempotency-key': 'k', traceparent: TRACEPARENT }
  const other = { ...retried, traceparent: TRACEPARENT.replace('4bf9', '0000') }
  const responses = [(await create(600n, retried)).response, (await create(600n, other)).response]
  expect(responses.map((response) => response?.status)).toEqual([200, 200])
  const found = (await readRawRecords(store)).filter(({ key }) => String(key) === '600')
  expect(found.map(({ headers }) => headers?.traceparent?.toString())).toEqual([TRACEPARENT])
})
