import { writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { consumePlants, inFile, kafkaOptions, PlantConsumerError, replayPlants } from '@plant-store/shared/consumer'
import { openPlantTable, type Row } from './plant-table.ts'

// Keeps a table of all plants in SQLite: up to date as plants are created, or rebuilt from the log.

const FILE = fileURLToPath(new URL('../../.local/examples/own-table.sqlite', import.meta.url))
const LOOK_EVERY_MS = 100

const { values, positionals } = parseArgs({
  options: { table: { type: 'string', default: FILE }, 'until-end': { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [command, file] = positionals
const kafka = {
  ...kafkaOptions({ ...process.env, KAFKA_BROKERS: process.env.KAFKA_BROKERS || 'localhost:19092' }),
  topic: process.env.PLANTS_TOPIC || 'plants',
}
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
const table = openPlantTable(values.table)
try {
  if (command === 'follow') await follow()
  else if (command === 'rebuild') await table.rebuild(replay)
  else if (command === 'dump' && file !== undefined) dump(file)
  else {
    console.error('usage: follow [--until-end] | rebuild | dump FILE, with --table FILE for another table')
    process.exitCode = 2
  }
} catch (error) {
  if (!(error instanceof PlantConsumerError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  table.close()
}

async function follow(): Promise<void> {
  const consumer = await consumePlants({
    ...{ ...kafka, signal: stop.signal, groupId: table.groupId() },
    // It also detects another log. The group cannot: a recreated Kafka has no groups.
    firstClaims: inFile(`${values.table}.claims`),
    onPlantsCreated: (events) => table.add(events),
    // Called in log order, too. If the table has the id already, this claim is void and nothing is added.
    onParked: ({ id }) => id !== undefined && table.add([{ id, name: null }]),
  })
  console.log('Following; Ctrl-C ends it.')
  while (values['until-end'] && consumer.lag() !== 0 && !stop.signal.aborted) {
    await Promise.race([consumer.ended, delay(LOOK_EVERY_MS)])
  }
  if (values['until-end']) await consumer.stop()
  await consumer.ended
  console.log(`${table.count()} plants are in the table.`)
}

async function replay(add: (rows: readonly Row[]) => void): Promise<void> {
  const { positions: _, ...counts } = await replayPlants({
    ...{ ...kafka, signal: stop.signal },
    onPlantsCreated: add,
    onParked: ({ id }) => id !== undefined && add([{ id, name: null }]),
    onProgress: ({ read, of, perSecond }) => console.log(`${read} of ${of} records, ${perSecond}/s`),
  })
  console.log(JSON.stringify(counts))
}

function dump(file: string): void {
  writeFileSync(file, [...table.all()].map((row) => `${JSON.stringify(jsonOf(row))}\n`).join(''))
}

/** The id is text, because many JSON readers round an int64. */
function jsonOf({ id, name, tag }: Row) {
  return name === null ? { id: String(id), unreadable: true } : { id: String(id), name, tag: tag ?? undefined }
}
