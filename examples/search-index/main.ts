import { writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { consumePlants, inFile, kafkaOptions, PlantConsumerError } from '@plant-store/shared/consumer'
import { type IndexedPlant, openPlantIndex } from './plant-index.ts'

// Keeps a full-text index of all plants in SQLite and updates it as plants are created.

const LIMIT = 20
const LOOK_EVERY_MS = 100
const FILE = fileURLToPath(new URL('../../.local/examples/search-index.sqlite', import.meta.url))

const { values, positionals } = parseArgs({
  options: { index: { type: 'string', default: FILE }, 'until-end': { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [command, ...rest] = positionals
const index = openPlantIndex(values.index)
try {
  if (command === 'follow') await follow()
  else if (command === 'search' && rest.length > 0) search(rest.join(' '))
  else if (command === 'dump' && rest[0] !== undefined) dump(rest[0])
  else {
    console.error('usage: follow [--until-end] | search WORD… | dump FILE, with --index FILE for another index')
    process.exitCode = 2
  }
} catch (error) {
  if (!(error instanceof PlantConsumerError)) throw error
  console.error(error.message)
  const isOfAnotherLog = ['another-log', 'partitions-changed'].includes(error.code)
  if (isOfAnotherLog) console.error(`To fill the index from this log, delete ${values.index}*`)
  process.exitCode = 1
} finally {
  index.close()
}

async function follow(): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const consumer = await consumePlants({
    ...kafkaOptions({ ...process.env, KAFKA_BROKERS: process.env.KAFKA_BROKERS || 'localhost:19092' }),
    topic: process.env.PLANTS_TOPIC || 'plants',
    groupId: index.groupId(),
    // It also detects another log. The group cannot: a recreated Kafka has no groups.
    firstClaims: inFile(`${values.index}.claims`),
    onPlantsCreated: (events) => index.add(events),
    signal: stop.signal,
  })
  if (!values['until-end']) console.log('Following; Ctrl-C ends it.')
  else {
    while (consumer.lag() !== 0 && !stop.signal.aborted) await Promise.race([consumer.ended, delay(LOOK_EVERY_MS)])
    await consumer.stop()
  }
  await consumer.ended
  console.log(`${index.count()} plants are in the index.`)
}

function dump(file: string): void {
  writeFileSync(file, [...index.all()].map((plant) => `${JSON.stringify(jsonOf(plant))}\n`).join(''))
  console.log(JSON.stringify({ plants: index.count() }))
}

function search(words: string): void {
  for (const plant of index.search(words, LIMIT)) console.log(JSON.stringify(jsonOf(plant)))
}

/** The id is text, because many JSON readers round an int64. */
function jsonOf({ id, name, tag }: IndexedPlant) {
  return { id: String(id), name, tag: tag ?? undefined }
}
