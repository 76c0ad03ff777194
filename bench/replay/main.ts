import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { FETCHING } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic, createTopic } from '@plant-store/shared/event-log/topic.ts'
import { createLog } from '@plant-store/shared/process/json-log.ts'
import { patiently } from '@plant-store/shared/process/patience.ts'
import { openBenchStores } from '../stores.ts'
import { READERS, type ReaderName, type Reading } from './reader.ts'
import type { Measured, Order } from './reader-process.ts'
import { openReplayed, type Replayed } from './replayed.ts'
import { seed } from './seed.ts'

const help = `Measures how fast the log is replayed into Redis, against a kafkajs consumer that does nothing, and how much
memory the read model takes. All readers read the same topic, each in a process of its own, in turn.

  npm run bench:replay                          1,000,000 events in 12 partitions, 3 rounds
  npm run bench:replay -- --events 100000       so many
  npm run bench:replay -- --partitions 6        in so many partitions
  npm run bench:replay -- --rounds 5            so often

It starts a Kafka and a Redis of its own, as the tests do, unless KAFKA_BROKERS and REDIS_URL name others; there it
makes a topic of its own, and removes it and its keys in the end.
`
const MAX_EVENTS = 20_000_000
const MAX_PARTITIONS = 1_000
const MAX_ROUNDS = 20
/** A reader that is slower than this is broken. */
const READER_MIN_EVENTS_PER_SECOND = 2_000
const READER_START_TIMEOUT_MS = 60_000
const TOLD_EVERY_MS = 5_000
/** After these the read model holds what was seeded. */
const FILLING = new Set<ReaderName>(['replayed into Redis', 'rebuilt: filled, verified, switched to'])
const LED_WITHIN = { everyMs: 100, giveUpAfterMs: 20_000 }

type Run = Measured & { redisCpuSeconds: number; redisBytes: number }

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message)
  return 1
})

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '1000000' },
      partitions: { type: 'string', default: '12' },
      rounds: { type: 'string', default: '3' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return 0
  }
  const events = numberOf('events', values.events, MAX_EVENTS)
  const partitions = numberOf('partitions', values.partitions, MAX_PARTITIONS)
  const rounds = numberOf('rounds', values.rounds, MAX_ROUNDS)

  const stores = await openBenchStores(process.env)
  try {
    const topic = `bench-${randomUUID()}`
    const { kafkaBrokers, redisUrl } = stores
    const reading = { kafkaBrokers, redisUrl, topic, partitions, events, fetching: FETCHING }
    await measure(reading, rounds)
  } finally {
    await stores.end()
  }
  return 0
}

function numberOf(name: string, text: string, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > max)
    throw new Error(`--${name} ${text}: expected a whole number from 1 to ${max}`)
  return value
}

async function measure(reading: Reading, rounds: number): Promise<void> {
  const { kafkaBrokers, redisUrl, topic, partitions, events } = reading
  const kafka = createKafka(kafkaBrokers.split(','), 'bench', createLog('bench', 'warn'))
  await createTopic(kafka, { topic, partitions })
  const replayed = await openReplayed(redisUrl, { topic, partitions })
  try {
    await patiently(() => checkTopic(kafka, { topic, partitions }), LED_WITHIN)
    console.log(`${events} events into ${partitions} partitions`)
    await seed(kafka, { topic, partitions }, events, progress(events))
    const runs = await takeTurns(reading, rounds, replayed)
    console.log(`\n${environmentOf(await replayed.version())}\n\n${tableOf(runs, events)}`)
  } finally {
    await replayed.close()
    const admin = kafka.admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [topic] })
    await admin.disconnect()
  }
}

function progress(events: number): (appended: number) => void {
  const begin = performance.now()
  let told = begin
  return (appended) => {
    const now = performance.now()
    if (now - told < TOLD_EVERY_MS && appended < events) return
    told = now
    console.log(`  ${appended} of ${events}, ${rate(appended, (now - begin) / 1_000)} a second`)
  }
}

/** All readers once in each round, so that what else the machine does meets them alike. */
async function takeTurns(
  reading: Reading,
  rounds: number,
  replayed: Replayed,
): Promise<Map<ReaderName, Run[]>> {
  const runs = new Map<ReaderName, Run[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const name of Object.keys(READERS) as ReaderName[]) {
      const run = await runOnce(name, reading, replayed)
      runs.set(name, [...(runs.get(name) ?? []), run])
      console.log(`  round ${round}, ${name}: ${rate(reading.events, run.seconds)} events a second`)
    }
  }
  return runs
}

async function runOnce(name: ReaderName, reading: Reading, replayed: Replayed): Promise<Run> {
  const [bytes, cpu] = [await replayed.usedBytes(), await replayed.cpuSeconds()]
  const measured = await inOwnProcess({ name, reading })
  const redisCpuSeconds = (await replayed.cpuSeconds()) - cpu
  const redisBytes = (await replayed.usedBytes()) - bytes
  if (FILLING.has(name)) await replayed.check(reading.events)
  await replayed.drop()
  return { ...measured, redisCpuSeconds, redisBytes }
}

async function inOwnProcess(order: Order): Promise<Measured> {
  const child = fork(new URL('reader-process.ts', import.meta.url), { stdio: 'inherit' })
  const limitMs = READER_START_TIMEOUT_MS + (order.reading.events / READER_MIN_EVENTS_PER_SECOND) * 1_000
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const killChild = () => child.kill('SIGKILL')
  process.once('exit', killChild)
  const exited = once(child, 'exit')
  child.send(order)
  const told = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  const [code, signal] = await exited
  clearTimeout(limit)
  process.off('exit', killChild)
  if (told === undefined || code !== 0) throw new Error(`${order.name}: it ended with ${code ?? signal}`)
  return told[0]
}

function rate(events: number, seconds: number): string {
  return Math.round(events / seconds).toLocaleString('en')
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const [low = 0, high = 0] = [sorted.at(half - (sorted.length % 2 === 0 ? 1 : 0)), sorted.at(half)]
  return (low + high) / 2
}

function environmentOf(redisVersion: string): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1e9)} GB`
  return `${machine}; Node ${process.version}, Redis ${redisVersion}; all of it on this machine`
}

function tableOf(runs: ReadonlyMap<ReaderName, readonly Run[]>, events: number): string {
  const medianOf = (name: ReaderName, of: (run: Run) => number) => median((runs.get(name) ?? []).map(of))
  const names = [...runs.keys()]
  const base = medianOf(names[0] as ReaderName, ({ seconds }) => seconds)
  const perEvent = (seconds: number) => ((seconds / events) * 1e6).toFixed(1)
  const rows = names.map((name) => {
    const seconds = medianOf(name, (run) => run.seconds)
    const bytes = medianOf(name, (run) => run.redisBytes)
    const memory = bytes > events ? `${(bytes / events).toFixed(1)} MB` : ''
    const cpu = [medianOf(name, (run) => run.cpuSeconds), medianOf(name, (run) => run.redisCpuSeconds)]
    return [name, rate(events, seconds), (base / seconds).toFixed(2), ...cpu.map(perEvent), memory]
  })
  const head = ['', 'events/s', 'ratio', 'µs of CPU an event', 'of Redis', 'Redis per million plants']
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
