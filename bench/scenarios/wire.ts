import { createPrivateKafkajs, kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import { produceByTopicId } from '@plant-store/shared/kafka-client/topic-ids.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Figures } from '../measure/spread.ts'
import { newEvent } from '../plant.ts'
import { PARTITIONS } from '../plant-store.ts'
import { tableOf } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'

/** The modules of kafkajs that encode a produce request and decode a fetch response. */
const kafkajsOf = (load: typeof kafkajsModule, correct: typeof produceByTopicId = (published) => published) => ({
  produce: correct(load('src/protocol/requests/produce/index.js')).protocol({ version: 7 }),
  decodeFetched: load('src/protocol/requests/fetch/v4/decodeMessages.js') as (response: object) => Promise<object>,
  Decoder: load('src/protocol/decoder.js') as new (bytes: Buffer) => object,
})
type Kafkajs = ReturnType<typeof kafkajsOf>
/** Both read and write the same bytes; a test of the encoder verifies that. */
const here = kafkajsOf(kafkajsModule, produceByTopicId)
const itself = kafkajsOf(createPrivateKafkajs().load)

type Message = Pick<NewRecord, 'key' | 'value' | 'headers'>

/** One append under load, of one partition. */
const EVENTS_PER_BATCH = 100
const TOPIC = 'plants'
/** Of a produce request: no transactional id, acks, timeout, one topic and one partition with their counts. */
const BEFORE_SIZE_BYTES = 2 + 2 + 4 + 4 + (2 + TOPIC.length) + 4 + 4
const SIZE_BYTES = 4
const FIGURES = ['bytes an event', 'encode', 'encode by kafkajs itself', 'decode', 'decode by kafkajs itself']
const TRACEPARENT = Buffer.from('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')
const DECIDED_BY = ['ce_type', 'ce_id', 'content-type']
const REQUIRED = ['ce_specversion', 'ce_source', ...DECIDED_BY]

const only = (names: readonly string[]) => (event: NewRecord) => ({
  ...event,
  headers: Object.fromEntries(Object.entries(event.headers).filter(([name]) => names.includes(name))),
})

const FORMS: Record<string, (event: NewRecord) => Message> = {
  'no headers': only([]),
  'the three that readers decide by': only(DECIDED_BY),
  'these and those that CloudEvents requires': only(REQUIRED),
  '**these and `ce_time`, as written**': (event) => event,
  'these and `traceparent`': (event) => ({ ...event, headers: { ...event.headers, traceparent: TRACEPARENT } }),
  'structured mode': structured,
}

export const wire: Scenario = {
  summary: 'bytes and CPU of an event, by its form',
  help: `encodes produce requests and decodes their batches in memory, as kafkajs does for each send and fetch, as published
and with the modules that this project replaces.`,
  declared: { numbers: { rounds: 7, events: 100_000 }, quick: { rounds: 3 } },
  async run({ rounds, events }) {
    const batch = Array.from({ length: EVENTS_PER_BATCH }, () => newEvent(PARTITIONS, { timeMs: Date.now() }))
    const cases = Object.entries(FORMS).map(([name, form]) => ({ name, messages: batch.map(form) }))
    const measure = async ({ name, messages }: (typeof cases)[number]) => ({
      [name]: await measureForm(messages, Math.ceil(events / EVENTS_PER_BATCH)),
    })
    for (const each of cases) await measure(each)
    const forms = await inRounds(cases, rounds, measure)
    return {
      title: 'The form of an event',
      notes: [
        `${rounds} rounds of ${events.toLocaleString('en')} events: medians. Times are µs of CPU for each event.`,
      ],
      tables: [tableOf('form', forms, FIGURES)],
      measured: { forms },
    }
  },
}

async function measureForm(messages: readonly Message[], batches: number): Promise<Figures> {
  const fetched = await encode(here, messages)
  async function microsOf(task: () => Promise<unknown>): Promise<number> {
    const before = process.cpuUsage()
    for (let n = 0; n < batches; n++) await task()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / (batches * EVENTS_PER_BATCH)
  }
  return {
    'bytes an event': (fetched.length - SIZE_BYTES) / EVENTS_PER_BATCH,
    encode: await microsOf(() => encode(here, messages)),
    'encode by kafkajs itself': await microsOf(() => encode(itself, messages)),
    decode: await microsOf(() => here.decodeFetched(new here.Decoder(fetched))),
    'decode by kafkajs itself': await microsOf(() => itself.decodeFetched(new itself.Decoder(fetched))),
  }
}

/** The batch with its size before it, as in a produce request and in a fetch response. */
async function encode({ produce }: Kafkajs, messages: readonly Message[]): Promise<Buffer> {
  const topicData = [{ topic: TOPIC, partitions: [{ partition: 0, messages }] }]
  const { request } = produce({ acks: -1, timeout: 5_000, producerId: -1, producerEpoch: 0, topicData })
  return (await request.encode()).buffer.subarray(BEFORE_SIZE_BYTES)
}

/** The same event as CloudEvents' JSON, all of it in the value (Kafka protocol binding, 3.3). */
function structured({ key, value, headers }: NewRecord): Message {
  const attribute = (header: string) => headers[header]?.toString()
  const [specversion, id, time] = [attribute('ce_specversion'), attribute('ce_id'), attribute('ce_time')]
  const [source, type, datacontenttype] = [attribute('ce_source'), attribute('ce_type'), attribute('content-type')]
  const event = { specversion, id, source, type, time, datacontenttype, data: JSON.parse(value.toString()) }
  const contentType = Buffer.from('application/cloudevents+json')
  return { key, value: Buffer.from(JSON.stringify(event)), headers: { 'content-type': contentType } }
}
