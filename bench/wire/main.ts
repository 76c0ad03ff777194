import { randomBytes, randomUUID } from 'node:crypto'
import { createPrivateKafkajs, kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type NewRecord, plantCreated, type Traceparent } from '@plant-store/shared/plant/plant-created.ts'
import { numberOf } from '../../tests/support/number-option.ts'
import { runCommand } from '../command.ts'
import { machine } from '../environment.ts'
import { knownOptions } from '../known-options.ts'
import { median } from '../measure/spread.ts'
import { NAME, TAG } from '../plant.ts'

const help = `Measures the cost of the form of an event: its bytes in the log, and the time that kafkajs takes to encode and decode it,
as published and with the modules that this project replaces. It needs neither Kafka nor Redis: it encodes produce
requests and decodes their batches in memory, as kafkajs does for each send and fetch.

  npm run bench:wire                     rounds of 100,000 events of each form, 7 rounds
  npm run bench:wire -- --rounds 3       this many rounds
`

// The modules of kafkajs that encode a produce request and decode a fetch response.
type Kafkajs = {
  produceRequest(options: object): { encode(): Promise<{ buffer: Buffer }> }
  decodeFetched(answer: object): Promise<object>
  Decoder: new (bytes: Buffer) => object
}
const kafkajsOf = (load: typeof kafkajsModule): Kafkajs => ({
  produceRequest: load('src/protocol/requests/produce/v7/request.js'),
  decodeFetched: load('src/protocol/requests/fetch/v4/decodeMessages.js'),
  Decoder: load('src/protocol/decoder.js'),
})
/** Both read and write the same bytes; a test of the encoder verifies that. */
const KAFKAJS = {
  itself: kafkajsOf(createPrivateKafkajs().load),
  here: kafkajsOf(kafkajsModule),
}

type Message = Pick<NewRecord, 'key' | 'value' | 'headers'>
type Run = Record<(typeof COLUMNS)[number], number>

const MAX_ROUNDS = 100
const EVENTS = 100_000
/** One append under load, of one partition. */
const EVENTS_PER_BATCH = 100
const PARTITIONS = 12
const TOPIC = 'plants'
/**
 * The bytes of a produce request before the size of its only batch: no transactional id, acks, timeout, and one topic
 * and one partition with their counts.
 */
const BEFORE_SIZE_BYTES = 2 + 2 + 4 + 4 + (2 + TOPIC.length) + 4 + 4
const SIZE_BYTES = 4
const COLUMNS = ['encode', 'encode by kafkajs itself', 'decode', 'decode by kafkajs itself'] as const
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' as Traceparent
const DECIDED_BY = ['ce_type', 'ce_id', 'content-type']

const FORMS: Record<string, (event: NewRecord, traced: NewRecord) => Message> = {
  'no headers': (event) => ({ ...event, headers: {} }),
  'the three that readers decide by': (event) => ({
    ...event,
    headers: Object.fromEntries(Object.entries(event.headers).filter(([name]) => DECIDED_BY.includes(name))),
  }),
  '**the five, as written**': (event) => event,
  'the five and `traceparent`': (_event, traced) => traced,
  'structured mode': structured,
}

await runCommand({ help, readOptions, run: measure })

function readOptions(args: readonly string[]): number | undefined {
  const values = knownOptions(args, {
    rounds: { type: 'string', default: '7' },
    help: { type: 'boolean', short: 'h' },
  })
  return values.help ? undefined : numberOf('rounds', values.rounds, MAX_ROUNDS)
}

/** Each round measures all forms, so that other work of the machine affects them alike. The first only warms up. */
async function measure(rounds: number): Promise<void> {
  const events = Array.from({ length: EVENTS_PER_BATCH }, newEvent)
  const batches = Object.entries(FORMS).map(([name, form]) => {
    const messages = events.map(([event, traced]) => form(event, traced))
    return { name, messages, runs: [] as Run[] }
  })
  for (let round = 0; round <= rounds; round++) {
    for (const { messages, runs } of batches) {
      const run = await runOnce(messages)
      if (round > 0) runs.push(run)
    }
  }
  const rows = await Promise.all(
    batches.map(async ({ name, messages, runs }) => [
      name,
      (((await encode(KAFKAJS.here, messages)).length - SIZE_BYTES) / EVENTS_PER_BATCH).toFixed(0),
      ...COLUMNS.map((column) => median(runs.map((run) => run[column])).toFixed(2)),
    ]),
  )
  const head = ['form', 'bytes an event', ...COLUMNS.map((column) => `µs to ${column}`)]
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
  console.log(`${machine()}; Node ${process.version}\n`)
  console.log(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'))
}

async function runOnce(messages: readonly Message[]): Promise<Run> {
  const { itself, here } = KAFKAJS
  const fetched = await encode(here, messages)
  return {
    encode: await microsOf(() => encode(here, messages)),
    'encode by kafkajs itself': await microsOf(() => encode(itself, messages)),
    decode: await microsOf(() => here.decodeFetched(new here.Decoder(fetched))),
    'decode by kafkajs itself': await microsOf(() => itself.decodeFetched(new itself.Decoder(fetched))),
  }
}

/** µs of CPU an event, of a task that deals with one batch. */
async function microsOf(task: () => Promise<unknown>): Promise<number> {
  const { user, system } = process.cpuUsage()
  for (let n = 0; n < EVENTS / EVENTS_PER_BATCH; n++) await task()
  const used = process.cpuUsage({ user, system })
  return (used.user + used.system) / EVENTS
}

/** The batch with its size before it, as in a produce request and in a fetch response. */
async function encode({ produceRequest }: Kafkajs, messages: readonly Message[]): Promise<Buffer> {
  const topicData = [{ topic: TOPIC, partitions: [{ partition: 0, messages }] }]
  const request = produceRequest({ acks: -1, timeout: 5_000, producerId: -1, producerEpoch: 0, topicData })
  return (await request.encode()).buffer.subarray(BEFORE_SIZE_BYTES)
}

/** A plant with a random id; once without and once with a trace. */
function newEvent(): [NewRecord, NewRecord] {
  const id = randomBytes(8).readBigInt64BE() as PlantId
  const plant = { id, name: NAME, tag: TAG }
  const eventId = randomUUID() as EventId
  return [plantCreated(plant, eventId, PARTITIONS), plantCreated(plant, eventId, PARTITIONS, TRACEPARENT)]
}

/** The same event as CloudEvents' JSON, all of it in the value (Kafka protocol binding, 3.3). */
function structured({ key, value, headers }: NewRecord): Message {
  const attribute = (header: string) => headers[header]?.toString()
  const event = {
    specversion: attribute('ce_specversion'),
    id: attribute('ce_id'),
    source: attribute('ce_source'),
    type: attribute('ce_type'),
    datacontenttype: attribute('content-type'),
    data: JSON.parse(value.toString()),
  }
  const type = Buffer.from('application/cloudevents+json')
  return { key, value: Buffer.from(JSON.stringify(event)), headers: { 'content-type': type } }
}
