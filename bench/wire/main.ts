import { randomBytes, randomUUID } from 'node:crypto'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { kafkajsModule } from '@plant-store/shared/event-log/kafkajs.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'
import type { Traceparent } from '@plant-store/shared/plant/traceparent.ts'

const help = `Measures what the form of an event costs: its bytes in the log, and the time that kafkajs takes to write and to read it. It
needs neither Kafka nor Redis: record batches are encoded and decoded in memory, as kafkajs does for each send and fetch.

  npm run bench:wire                     rounds of 200,000 events of each form, 7 rounds
  npm run bench:wire -- --rounds 3       so many rounds
`

// The modules of kafkajs, as corrected here, that a produce and a fetch come to.
type Encoder = { buffer: Buffer }
type Decoded = { records: { headers: Record<string, Buffer> }[] }
const encodeRecord: (record: object) => Encoder = kafkajsModule('src/protocol/recordBatch/record/v0/index.js')
const { RecordBatch: encodeBatch }: { RecordBatch(batch: object): Promise<Encoder> } = kafkajsModule(
  'src/protocol/recordBatch/v0/index.js',
)
const decodeBatch: (decoder: object) => Promise<Decoded> = kafkajsModule(
  'src/protocol/recordBatch/v0/decoder.js',
)
const Decoder: new (bytes: Buffer) => object = kafkajsModule('src/protocol/decoder.js')

type Message = Pick<NewRecord, 'key' | 'value' | 'headers'>
type Run = { encodeMicros: number; decodeMicros: number }

const MAX_ROUNDS = 100
const EVENTS = 200_000
/** One append under load, of one partition. */
const EVENTS_PER_BATCH = 100
const PARTITIONS = 12
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

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, help: { type: 'boolean', short: 'h' } },
})
if (values.help) process.stdout.write(help)
else await measure(roundsOf(values.rounds))

function roundsOf(text: string): number {
  const rounds = Number(text)
  if (!/^\d+$/.test(text) || rounds < 1 || rounds > MAX_ROUNDS)
    throw new Error(`--rounds ${text}: expected a whole number from 1 to ${MAX_ROUNDS}`)
  return rounds
}

/** All forms once in each round, so that what else the machine does meets them alike. The first round only warms up. */
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
      ((await encode(messages)).length / EVENTS_PER_BATCH).toFixed(0),
      median(runs.map(({ encodeMicros }) => encodeMicros)).toFixed(2),
      median(runs.map(({ decodeMicros }) => decodeMicros)).toFixed(2),
    ]),
  )
  const head = ['form', 'bytes an event', 'µs to encode', 'µs to decode']
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
  console.log(`${cpus().length} × ${cpus()[0]?.model.trim()}; Node ${process.version}\n`)
  console.log(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'))
}

async function runOnce(messages: readonly Message[]): Promise<Run> {
  const batch = await encode(messages)
  const times = EVENTS / EVENTS_PER_BATCH
  const encodeMicros = await microsOf(() => encode(messages), times)
  const decodeMicros = await microsOf(() => decodeBatch(new Decoder(batch)), times)
  return { encodeMicros: encodeMicros / EVENTS, decodeMicros: decodeMicros / EVENTS }
}

async function microsOf(task: () => Promise<unknown>, times: number): Promise<number> {
  const { user, system } = process.cpuUsage()
  for (let n = 0; n < times; n++) await task()
  const used = process.cpuUsage({ user, system })
  return used.user + used.system
}

async function encode(messages: readonly Message[]): Promise<Buffer> {
  const records = messages.map((message, offsetDelta) =>
    encodeRecord({ ...message, offsetDelta, timestampDelta: 0 }),
  )
  return (await encodeBatch({ records, lastOffsetDelta: records.length - 1 })).buffer
}

/** A plant as the target speaks of it, with a random id; once without and once with a trace. */
function newEvent(): [NewRecord, NewRecord] {
  const id = randomBytes(8).readBigInt64BE() as PlantId
  const plant = { id, name: 'Monstera deliciosa', tag: 'shade' }
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

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const [low = 0, high = 0] = [sorted.at(half - (sorted.length % 2 === 0 ? 1 : 0)), sorted.at(half)]
  return (low + high) / 2
}
