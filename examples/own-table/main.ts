import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { kafkaOptions, PlantConsumerError, replayPlants } from '@plant-store/shared/consumer'
import { openPlantTable, type Row } from './plant-table.ts'

// Keeps a table of all plants in SQLite. A rebuild fills a new one from the log next to the old one.

const FILE = fileURLToPath(new URL('../../.local/examples/own-table.sqlite', import.meta.url))

const { values, positionals } = parseArgs({
  options: { table: { type: 'string', default: FILE } },
  allowPositionals: true,
})
const [command, file] = positionals
const table = openPlantTable(values.table)
try {
  if (command === 'rebuild') await rebuild()
  else if (command === 'dump' && file !== undefined) dump(file)
  else {
    console.error('usage: rebuild | dump FILE, with --table FILE for another table')
    process.exitCode = 2
  }
} catch (error) {
  if (!(error instanceof PlantConsumerError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  table.close()
}

async function rebuild(): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const next = table.startRebuild()
  const { positions, ...counts } = await replayPlants({
    ...kafkaOptions({ ...process.env, KAFKA_BROKERS: process.env.KAFKA_BROKERS || 'localhost:19092' }),
    topic: process.env.PLANTS_TOPIC || 'plants',
    onPlantsCreated: (events) => next.add(events.map(({ id, name, tag = null }) => ({ id, name, tag }))),
    // Called in log order too. If the table has the id already, this claim is void and nothing is added.
    onParked: ({ id }) => id !== undefined && next.add([{ id, name: null, tag: null }]),
    onProgress: ({ read, of, perSecond }) => console.log(`${read} of ${of} records, ${perSecond}/s`),
    signal: stop.signal,
  })
  next.switchTo(positions)
  console.log(JSON.stringify(counts))
}

function dump(file: string): void {
  writeFileSync(file, [...table.all()].map((row) => `${JSON.stringify(jsonOf(row))}\n`).join(''))
}

/** The id is text, because many JSON readers round an int64. */
function jsonOf({ id, name, tag }: Row) {
  return name === null ? { id: String(id), unreadable: true } : { id: String(id), name, tag: tag ?? undefined }
}
