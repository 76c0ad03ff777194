import { readFileSync } from 'node:fs'
import { trace } from '@opentelemetry/api'
import { startNodeSdk } from '@opentelemetry/sdk-node'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createPlant, idsFrom, onConnections, send } from './support/client.ts'
import { consumeInto } from './support/consumed-plants.ts'
import { eventually } from './support/eventually.ts'
import { createPlantStore, startApiAlone } from './support/plant-store.ts'
import { readRawRecords } from './support/raw-records.ts'
import { startTraceCollector, treeOf } from './support/trace-collector.ts'

const WAIT_MS = 20_000
const CLIENT_SPAN = '00f067aa0ba902b7'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SAMPLED = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01` }
const NAME = 'Monstera nobody may see'

it('a create is one trace through api, Kafka, projector and consumer, with its event; one that is not sampled has no spans', async () => {
  const collector = await startTraceCollector()
  const store = await createPlantStore()
  const [api, projector] = await Promise.all([
    store.startApi({ ...collector.environment, LOG_LEVEL: 'debug' }),
    store.startProjector({ ...collector.environment, LOG_LEVEL: 'debug' }),
  ])
  for (const [name, value] of Object.entries(collector.environment)) vi.stubEnv(name, value)
  const resourceAttributes = { 'service.name': 'a-consumer' }
  const sdk = startNodeSdk({ metricReaders: [], logRecordProcessors: [], resourceAttributes })
  onTestFinished(async () => {
    await sdk.shutdown()
    trace.disable()
    vi.unstubAllEnvs()
  })
  await consumeInto(store.topic, {
    onPlantCreated: () => trace.getTracer('test').startSpan('put into the catalogue').end(),
  })

  expect((await createPlant(api.url, 7n, NAME, SAMPLED)).response?.status).toBe(200)
  expect((await send(`${api.url}/%zz?x`, { headers: SAMPLED }))?.status).toBe(404)
  await eventually(() => expect(collector.spans).toHaveLength(9))
  const { topic } = store
  expect(treeOf(collector.spans, CLIENT_SPAN)).toEqual([
    'GET (plant-store-api, SERVER)',
    'POST /plants (plant-store-api, SERVER)',
    `  create ${topic} (plant-store-api, PRODUCER)`,
    '    look up plants (plant-store-api, INTERNAL)',
    `    process ${topic} (a-consumer, CONSUMER, links to create ${topic})`,
    '      put into the catalogue (a-consumer, INTERNAL)',
    `    process ${topic} (plant-store-projector, CONSUMER, links to create ${topic})`,
    `    send ${topic} (plant-store-api, CLIENT, links to create ${topic})`,
    '    wait for verdict (plant-store-api, INTERNAL)',
  ])
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
  expect(collector.bodies.join()).not.toContain(NAME)

  const created = collector.spans.find(({ name }) => name === `create ${topic}`)
  const [record] = await readRawRecords(store)
  expect(String(record?.headers?.traceparent)).toBe(`00-${TRACE}-${created?.spanId}-01`)
  const server = collector.spans.find(({ name }) => name === 'POST /plants')
  expect(collector.spans.find(({ name }) => name === 'GET')?.attributes).toContainEqual({
    key: 'url.path',
    value: { stringValue: '/%zz' },
  })
  const metrics = await (await fetch(`${api.opsUrl}/metrics`)).text()
  expect(metrics).toMatch(
    new RegExp(`duration_seconds_bucket{.*route="/plants".*} 1 # {trace_id="${TRACE}",span_id="${server?.spanId}"}`),
  )
  expect(readFileSync(api.logFile, 'utf8')).toContain(`"trace_id":"${TRACE}","span_id":"${server?.spanId}"`)
  expect(readFileSync(projector.logFile, 'utf8')).toMatch(new RegExp(`"trace_id":"${TRACE}".*"applied"`))

  // The consumer and the projector have separate spans for an event of a trace that is not sampled.
  const unsampled = await store.startApi({ ...collector.environment, OTEL_TRACES_SAMPLER: 'always_off' })
  expect((await createPlant(unsampled.url, 8n, NAME, SAMPLED)).response?.status).toBe(200)
  const [, other] = (await readRawRecords(store)).sort((x, y) => Number(x.key) - Number(y.key))
  expect(String(other?.headers?.traceparent)).toBe(SAMPLED.traceparent)
  const itsMetrics = await (await fetch(`${unsampled.opsUrl}/metrics`)).text()
  expect(itsMetrics).toMatch(/duration_seconds_count{.*route="\/plants".*} 1\n/)
  // It exports its spans at its end.
  expect(await unsampled.stop({ graceMs: WAIT_MS })).toMatchObject({ code: 0 })
  await eventually(() => expect(collector.spans).toHaveLength(12))
  const later = collector.spans.slice(9).map(({ name }) => name)
  expect(later.sort()).toEqual([`process ${topic}`, `process ${topic}`, 'put into the catalogue'])
})

it('a collector that never responds costs no create, and the api ends in order', async () => {
  const collector = await startTraceCollector({ hangs: true })
  const { api } = await startApiAlone({ api: collector.environment })
  // They have several times as many spans as wait for an export at most.
  const sent = await onConnections(100, idsFrom(0, 2_000), (id) => createPlant(api.url, id, NAME))
  expect(new Set(sent.map(({ response }) => response?.status))).toEqual(new Set([200]))
  expect(collector.bodies.length).toBeGreaterThan(0)
  expect(await api.stop({ graceMs: WAIT_MS })).toMatchObject({ code: 0 })
})
