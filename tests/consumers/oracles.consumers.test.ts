import { join } from 'node:path'
import type { KafkaMessage } from 'kafkajs'
import { beforeAll, expect, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { send } from '../support/client.ts'
import { startPlantStore } from '../support/plant-store.ts'
import { readRawRecords } from '../support/raw-records.ts'
import { runStep } from '../support/run-step.ts'

// Checks by programs of other projects for AsyncAPI and CloudEvents. They are in a separate package, which is installed
// as its lockfile says.

const FOLDER = join(root, 'tests/consumers/oracles')
const DOCUMENT = join(root, 'docs/asyncapi.yaml')
const run = (command: string, args: string[]) => runStep(command, args, { cwd: FOLDER, timeoutMs: 120_000 })

beforeAll(async () => {
  await run('npm', ['ci'])
})

it("AsyncAPI's own parser finds nothing wrong with docs/asyncapi.yaml", async () => {
  const { version, diagnostics } = JSON.parse(await run('node', ['validate-asyncapi.js', DOCUMENT]))
  const isProblem = ({ code }: { code: string }) => code !== 'asyncapi-latest-version'
  expect(version).toBe('3.0.0')
  expect(diagnostics.filter(isProblem)).toEqual([])
})

it('the CloudEvents SDK reads from Kafka what Plant Store writes', async () => {
  const { store, api } = await startPlantStore()
  const answer = await send(`${api.url}/plants`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":9007199254740993,"name":"Øye 🌱","tag":""}',
  })
  expect(answer?.status).toBe(200)
  const [record] = await readRawRecords(store)
  const message = inTexts(record as KafkaMessage)
  expect(message.headers.ce_time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
  expect(JSON.parse(await run('node', ['read-cloudevents.js', JSON.stringify(message)]))).toEqual({
    specversion: '1.0',
    id: message.headers.ce_id,
    source: '/plants',
    type: 'PlantCreated',
    datacontenttype: 'application/json; version=1',
    partitionkey: '9007199254740993',
    data: { id: '9007199254740993', name: 'Øye 🌱', tag: '' },
    time: message.headers.ce_time,
  })
})

function inTexts({ key, value, headers }: KafkaMessage) {
  const texts = Object.entries(headers ?? {}).map(([name, content]) => [name, String(content)])
  return { key: String(key), value: String(value), headers: Object.fromEntries(texts) }
}
