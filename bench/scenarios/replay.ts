import { REPLAY_FETCHES } from '@plant-store/shared/event-log/replay.ts'
import { Failure } from '../../local/processes/failure.mjs'
import { RATE } from '../load/load.ts'
import { CPU, cpuBetween, readCpu } from '../measure/cpu.ts'
import { type Figures, type Measured, median } from '../measure/spread.ts'
import type { Options } from '../options.ts'
import { inOwnProcess } from '../own-process.ts'
import { openPlantStore, PARTITIONS } from '../plant-store.ts'
import { append } from '../replay/append.ts'
import type { ReaderOrder, ReaderTimes } from '../replay/reader-process.ts'
import { READER_NAMES, type ReaderName } from '../replay/readers.ts'
import { ratioOfRows, tableOf, target, valuesOf } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'
import type { BenchStores } from '../stores.ts'

/** A slower reader is broken. */
const READER_MIN_EVENTS_PER_SECOND = 2_000
const READER_START_TIMEOUT_MS = 60_000
const READER_PROCESS = new URL('../replay/reader-process.ts', import.meta.url)
const MEMORY = 'MB per million'

export const replay: Scenario = {
  summary: 'speed and memory of reading the log into Redis',
  help: `all readers read the same topic, each in a separate process, in turn: a kafkajs consumer that does nothing, the
follower, a projector with an empty read model, and a rebuild.`,
  declared: {
    numbers: { rounds: 3, events: 1_000_000, partitions: PARTITIONS },
    quick: { events: 60_000 },
    parts: READER_NAMES,
  },
  async run(options, stores) {
    const { rounds, events, partitions } = options
    const projections = await compareReaders(stores, options, options.parts as ReaderName[])
    return {
      title: 'Replay',
      notes: [`${rounds} rounds of ${events.toLocaleString('en')} events in ${partitions} partitions: medians.`],
      tables: [readersTable(projections)],
      measured: { projections },
    }
  },
}

export async function compareReaders(
  stores: BenchStores,
  { rounds, events, partitions = PARTITIONS }: Pick<Options, 'rounds' | 'events'> & { partitions?: number },
  readers: readonly ReaderName[] = READER_NAMES,
): Promise<Measured> {
  await using store = await openPlantStore(stores, { partitions })
  console.log(`  appending ${events.toLocaleString('en')} events`)
  await append(store, events)
  const { kafkaBrokers, redisUrl } = stores
  const reading = { ...{ kafkaBrokers, redisUrl, partitions, events }, topic: store.topic, fetchLimits: REPLAY_FETCHES }
  const limitMs = READER_START_TIMEOUT_MS + (events / READER_MIN_EVENTS_PER_SECOND) * 1_000

  async function measure(name: ReaderName): Promise<Record<string, Figures>> {
    const [bytes, cpu] = [await store.redisBytes(), readCpu(stores.processes)]
    const order = { name, reading } satisfies ReaderOrder
    const { seconds, cpuSeconds } = await inOwnProcess<ReaderTimes>(READER_PROCESS, order, limitMs)
    const used = cpuBetween(cpu, readCpu(stores.processes)).Redis ?? Number.NaN
    const [megabytes, counts] = [((await store.redisBytes()) - bytes) / events, await store.counts()]
    const isFilling = name === 'replayed' || name === 'rebuilt'
    // Each event is a plant, none void, none parked.
    if (isFilling && JSON.stringify(counts) !== JSON.stringify({ plants: events, voids: 0, parked: 0 }))
      throw new Failure(`after ${events} events the read model has ${JSON.stringify(counts)}`)
    await store.removeReadModel()
    const figures = { [RATE]: events / seconds, [CPU]: (cpuSeconds / events) * 1e6, Redis: (used / events) * 1e6 }
    return { [name]: { ...figures, ...(isFilling && { [MEMORY]: megabytes }) } }
  }

  // Without this the first reader would find the broker slower than all later ones.
  console.log('  the broker warms up')
  await measure('kafkajs-alone')
  const cases = readers.map((name) => ({ name }))
  // Without `await` the store would be removed first.
  return await inRounds(cases, rounds, ({ name }) => measure(name))
}

export const readersTable = (projections: Measured) =>
  tableOf('projections', projections, [RATE, CPU, 'Redis', MEMORY], {
    ...{ spread: [RATE], base: () => READER_NAMES[0], ratios: { [RATE]: `of ${READER_NAMES[0]}` } },
  })

/** `live` is the rate of creates. */
export function readerTargets(projections: Measured, live: readonly number[] | undefined) {
  const catchUp = live && valuesOf(projections.replayed, RATE)?.map((rate) => rate / median(live))
  const rebuilt = ratioOfRows(projections, RATE, 'rebuilt', 'kafkajs-alone')
  return [
    ...target(6, 'catch-up against the live rate', catchUp, { atLeast: 20 }, '×'),
    ...target(7, 'rebuild against kafkajs-alone', rebuilt, { atLeast: 0.75 }, '×'),
    ...target(8, 'Redis memory per million plants', valuesOf(projections.replayed, MEMORY), { atMost: 127 }, 'MB'),
  ]
}
