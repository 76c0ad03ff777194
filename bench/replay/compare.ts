import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { REPLAY_FETCHES } from '@plant-store/shared/event-log/replay.ts'
import { createTestTopic } from '../../tests/support/topic.ts'
import { inOwnProcess } from '../own-process.ts'
import { orderOf } from '../side-by-side/order.ts'
import type { BenchStores } from '../stores.ts'
import type { Reading } from './reader.ts'
import type { Measured, Order } from './reader-process.ts'
import { READERS, type ReaderName } from './readers.ts'
import { openReplayed, type Replayed } from './replayed.ts'
import { seed } from './seed.ts'

/** A reader that is slower than this is broken. */
const READER_MIN_EVENTS_PER_SECOND = 2_000
const READER_START_TIMEOUT_MS = 60_000
const PROGRESS_EVERY_MS = 5_000
/** After these the read model holds what was seeded. */
const FILLING = new Set<ReaderName>(['replayed into Redis', 'rebuilt: filled, verified, switched to'])

export type ReplayRun = Measured & { redisCpuSeconds: number; redisBytes: number }
export type ReplayRuns = ReadonlyMap<ReaderName, readonly ReplayRun[]>
export type ReplayOptions = { events: number; partitions: number; rounds: number }

/** Seeds a topic of its own, runs all readers on it in turn, and removes the topic and the keys. */
export async function compareReaders(
  { kafkaBrokers, redisUrl }: Pick<BenchStores, 'kafkaBrokers' | 'redisUrl'>,
  { events, partitions, rounds }: ReplayOptions,
  say: (line: string) => void,
): Promise<{ runs: ReplayRuns; redisVersion: string }> {
  const { kafka, topic } = await createTestTopic(kafkaBrokers, partitions)
  const reading: Reading = { kafkaBrokers, redisUrl, topic, partitions, events, fetching: REPLAY_FETCHES }
  const replayed = await openReplayed(redisUrl, { topic, partitions })
  try {
    say(`${events} events into ${partitions} partitions`)
    await seed(kafka, { topic, partitions }, events, progress(events, say))
    const runs = await takeTurns(reading, rounds, replayed, say)
    return { runs, redisVersion: await replayed.version() }
  } finally {
    await replayed.close()
    await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] }))
  }
}

/** Prints the progress of appending, every few seconds and at the end. */
export function progress(events: number, say: (line: string) => void): (appended: number) => void {
  const begin = performance.now()
  let printedAt = begin
  return (appended) => {
    const now = performance.now()
    if (now - printedAt < PROGRESS_EVERY_MS && appended < events) return
    printedAt = now
    say(`  ${appended} of ${events}, ${rate(appended, (now - begin) / 1_000)} a second`)
  }
}

/**
 * Runs all readers once in each round, in rotating order, so that other work of the machine affects them alike. The log
 * is read once before, without measurement: the first reader finds the broker slower than all later ones.
 */
async function takeTurns(
  reading: Reading,
  rounds: number,
  replayed: Replayed,
  say: (line: string) => void,
): Promise<ReplayRuns> {
  const names = Object.keys(READERS) as ReaderName[]
  const runs = new Map<ReaderName, ReplayRun[]>(names.map((name) => [name, []]))
  say('  the broker warms up')
  await runOnce('kafkajs alone, doing nothing', reading, replayed)
  for (let round = 1; round <= rounds; round++) {
    for (const name of orderOf(names, round)) {
      const run = await runOnce(name, reading, replayed)
      runs.get(name)?.push(run)
      say(`  round ${round}, ${name}: ${rate(reading.events, run.seconds)} events a second`)
    }
  }
  return runs
}

async function runOnce(name: ReaderName, reading: Reading, replayed: Replayed): Promise<ReplayRun> {
  const [bytes, cpu] = [await replayed.usedBytes(), await replayed.cpuSeconds()]
  const order: Order = { name, reading }
  const limitMs = READER_START_TIMEOUT_MS + (reading.events / READER_MIN_EVENTS_PER_SECOND) * 1_000
  const measured = await inOwnProcess<Measured>(new URL('reader-process.ts', import.meta.url), order, limitMs)
  const redisCpuSeconds = (await replayed.cpuSeconds()) - cpu
  const redisBytes = (await replayed.usedBytes()) - bytes
  if (FILLING.has(name)) await replayed.check(reading.events)
  await replayed.drop()
  return { ...measured, redisCpuSeconds, redisBytes }
}

/** Events a second, as a person reads them. */
export function rate(events: number, seconds: number): string {
  return Math.round(events / seconds).toLocaleString('en')
}
