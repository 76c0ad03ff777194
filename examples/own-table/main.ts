import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PlantConsumerError, replayPlants } from '@plant-store/shared/consumer'
import { openPlantTable, type Row } from './plant-table.ts'

const USAGE = `Keeps a table of all plants in SQLite, which is made anew from the log beside the old one.

  rebuild     read the whole log into a new table, and put it in the place of the old one
  show ID     the plant with this id
  dump FILE   write all plants into a file, as JSON Lines

  --table FILE   the table's file
`
const FILE = fileURLToPath(new URL('../../.local/examples/own-table.sqlite', import.meta.url))

const ID = /^-?\d+$/
// A negative id is no option, which it would be anywhere but behind all options.
const args = process.argv.slice(2)
const negative = args.filter((argument) => argument.startsWith('-') && ID.test(argument))
const others = args.filter((argument) => !negative.includes(argument))
const { values, positionals } = parseArgs({
  args: [...others, '--', ...negative],
  options: { table: { type: 'string', default: FILE } },
  allowPositionals: true,
})
const [command, argument = '', ...more] = positionals
const table = openPlantTable(values.table)
try {
  process.exitCode = await run()
} catch (error) {
  if (!(error instanceof PlantConsumerError)) throw error
  console.error(error.message)
  process.exitCode = 1
} finally {
  table.close()
}

async function run(): Promise<number> {
  if (more.length > 0) return usage()
  if (command === 'rebuild' && argument === '') await rebuild()
  else if (command === 'show' && ID.test(argument)) show(BigInt(argument))
  else if (command === 'dump' && argument !== '') dump(argument)
  else return usage()
  return 0
}

function usage(): number {
  process.stderr.write(USAGE)
  return 2
}

async function rebuild(): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const anew = table.beginAnew()
  const { positions, ...counts } = await replayPlants({
    brokers: (process.env.KAFKA_BROKERS || 'localhost:9092').split(','),
    topic: process.env.PLANTS_TOPIC || 'plants',
    onPlantsCreated: (events) => anew.add(events.map(({ id, name, tag = null }) => ({ id, name, tag }))),
    // Comes in the order of the log as well. If the id is there already this claim is void, and nothing is added.
    onParked: ({ id }) => id !== undefined && anew.add([{ id, name: null, tag: null }]),
    onProgress: ({ read, of, perSecond }) => console.log(`${read} of ${of} records, ${perSecond}/s`),
    signal: stop.signal,
  })
  anew.switchTo(positions)
  console.log(JSON.stringify(counts))
}

function show(id: bigint): void {
  const row = id === BigInt.asIntN(64, id) ? table.rowOf(id) : undefined
  console.log(row === undefined ? 'There is no such plant.' : JSON.stringify(told(row)))
}

function dump(file: string): void {
  writeFileSync(file, [...table.all()].map((row) => `${JSON.stringify(told(row))}\n`).join(''))
}

/** The id as text: many readers of JSON lose digits of an int64. */
function told({ id, name, tag }: Row) {
  return name === null
    ? { id: String(id), unreadable: true }
    : { id: String(id), name, tag: tag ?? undefined }
}
