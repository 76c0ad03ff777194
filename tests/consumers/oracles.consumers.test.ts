import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { KafkaMessage } from 'kafkajs'
import { beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { root } from '../../local/places.mjs'
import { send } from '../support/client.ts'
import { followLog } from '../support/followed-log.ts'
import { startPlantStore } from '../support/plant-store.ts'
import { readRawRecords } from '../support/raw-records.ts'
import { runStep } from '../support/run-step.ts'
import { createTestTopic } from '../support/topic.ts'

// Checks by programs of other projects for AsyncAPI and CloudEvents. They are in a separate package, which is installed
// as its lockfile says.

type Message = { key: string; value: string; headers: Record<string, string> }

const FOLDER = join(root, 'tests/consumers/oracles')
const DOCUMENT = join(root, 'docs/asyncapi.yaml')
const WAIT_MS = 20_000
const run = (command: string, args: string[]) => runStep(command, args, { cwd: FOLDER, timeoutMs: 120_000 })

beforeAll(async () => {
  await run('npm', ['ci'])
})

describe("AsyncAPI's own parser", () => {
  it('finds nothing wrong with docs/asyncapi.yaml', async () => {
    const { version, diagnostics } = JSON.parse(await run('node', ['validate-asyncapi.js', DOCUMENT]))
    const isProblem = ({ code }: { code: string }) => code !== 'asyncapi-latest-version'
    expect(version).toBe('3.0.0')
    expect(diagnostics.filter(isProblem)).toEqual([])
  })
})

describe('the CloudEvents SDK', () => {
  it('reads from Kafka what Plant Store writes', async () => {
    const {
      store,
      api: { url },
    } = await startPlantStore()
    const answer = await send(`${url}/plants`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"id":9007199254740993,"name":"Øye 🌱","tag":""}',
    })
    expect(answer?.status).toBe(200)
    const [record] = await readRawRecords(store)
    const message = inTexts(record as KafkaMessage)
    expect(message.headers.ce_time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
    expect(await ask('read-cloudevents.js', [message])).toEqual([
      {
        specversion: '1.0',
        id: message.headers.ce_id,
        source: '/plants',
        type: 'PlantCreated',
        datacontenttype: 'application/json; version=1',
        partitionkey: '9007199254740993',
        data: { id: '9007199254740993', name: 'Øye 🌱', tag: '' },
        time: message.headers.ce_time,
      },
    ])
  })

  it('writes in binary mode what Plant Store reads from Kafka', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), 3)
    const ids = ['42', '-9223372036854775808']
    const events = ids.map((id) => ({
      ...{ id: randomUUID(), source: '/garden', type: 'PlantCreated', partitionkey: id, subject: id },
      datacontenttype: 'application/json; version=1',
      data: JSON.stringify({ id, name: 'Fern 🌿' }),
    }))
    const messages = (await ask('write-cloudevents.js', events)) as Message[]
    const producer = topic.kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    onTestFinished(() => producer.disconnect())
    await producer.connect()
    await producer.send({ topic: topic.topic, messages })

    const { delivered } = followLog(topic)
    const records = () => delivered.flatMap((call) => call.records)
    await vi.waitFor(() => expect(records()).toHaveLength(ids.length), WAIT_MS)
    for (const { id, partitionkey } of events) {
      expect(records()).toContainEqual({
        offset: expect.any(Number),
        claim: expect.objectContaining({
          id: BigInt(partitionkey),
          eventId: id,
          plant: { name: 'Fern 🌿' },
        }),
      })
    }
  })
})

async function ask(program: string, question: unknown): Promise<unknown> {
  return JSON.parse(await run('node', [program, JSON.stringify(question)]))
}

function inTexts({ key, value, headers }: KafkaMessage): Message {
  const texts = Object.entries(headers ?? {}).map(([name, content]) => [name, String(content)])
  return { key: String(key), value: String(value), headers: Object.fromEntries(texts) }
}
