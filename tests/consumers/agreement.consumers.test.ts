import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { consumePlants, inFile, inMemory, plantTable } from '@plant-store/shared/consumer/consumer.ts'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { openPlantStore, type PlantStore } from '../support/plant-store.ts'
import { expectTableToEqual, WITH_TABLE } from '../support/plants-table.ts'
import { quietLog } from '../support/quiet-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTableTopic, type TestTopic, tableTopicOf } from '../support/topic.ts'
import { expectReadModelToEqual, readTruth } from '../support/truth.ts'
import { generateLog, writeSteps } from './generated-log.ts'
import { type PlantLine, plantsOfLog, runExample, startExample } from './run-example.ts'

// Consumers in several languages implement "first claim wins" independently. All of them read one log that contains
// everything a reader may get wrong, and must agree. AGREEMENT_SEED repeats a run, or generates another log.

const RECORDS = 100_000
const SEED = Number(process.env.AGREEMENT_SEED ?? 1)
/** The numbers of records after which Python is killed. */
const KILLS = [RECORDS * 0.1, RECORDS * 0.4, RECORDS * 0.7]
const WAIT = { timeout: 60_000, interval: 50 }

describe(`on a log of ${RECORDS} records, AGREEMENT_SEED=${SEED}`, () => {
  const { steps, kindOf, counts: generated } = generateLog(SEED, RECORDS, 6)
  const { plant, unreadable, void: voids, repeated, foreign } = generated
  const counts = { plants: plant, unreadable, voids, repeated, foreign }
  let store: PlantStore
  let table: TestTopic
  let settings: NodeJS.ProcessEnv
  let expected: Map<string, PlantLine>
  let unreadableOnes: PlantLine[]

  beforeAll(async () => {
    store = await openPlantStore()
    settings = {
      ...{ KAFKA_BROKERS: inject('kafkaBrokers'), PLANTS_TOPIC: store.topic },
      PLANTS_TABLE: tableTopicOf(store),
    }
    await writeSteps(steps, store)
    table = await createTableTopic(store)
    await store.startProjector(WITH_TABLE)
    expected = await plantsOfLog(store)
    unreadableOnes = [...expected.values()].filter((line) => line.unreadable)
  })
  afterAll(() => store.end())

  it('the product folds the log to what its generator expects', async () => {
    const { length } = unreadableOnes
    expect({ plants: expected.size - length, unreadable: length }).toEqual({ plants: plant, unreadable })
    const truth = await readTruth(store)
    expect(truth.states.reduce((sum, state) => sum + state.voids, 0)).toBe(voids)
    await expectReadModelToEqual(truth, store)
    await expectTableToEqual(table, truth)
  })

  const lineOf = ({ id, name, tag }: { id: bigint; name: string; tag?: string | undefined }): PlantLine => ({
    ...{ id: String(id), name },
    ...(tag !== undefined && { tag }),
  })
  const linesIn = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const parsed = (lines: readonly string[]): PlantLine[] => lines.map((line) => JSON.parse(line))
  const newFile = (name: string) => join(temporaryFolder(), name)

  /** A consumer that finds all plants; with `isTable`, only those that can be read. */
  it.each<[who: string, isTable: boolean, read: () => Promise<PlantLine[]>]>([
    ['Python, which reads the table,', true, async () => parsed(await runExample('python-table', [], settings))],
    ['Kafka Streams, which reads the table,', true, readTableByStreams],
    ['Kafka Connect, which reads the table,', true, readTableByConnect],
    ['the library, which reads the table,', true, readTableByLibrary],
    ['Python, though it is killed while it reads,', false, readByPython],
    ['Java', false, readByJava],
    ['the library, with first claims in memory,', true, () => readByLibrary(inMemory())],
    ['the library, with first claims in a file,', true, () => readByLibrary(inFile(newFile('claims.sqlite')))],
    ['the own table, which the library keeps up to date,', false, () => readOwnTable()],
    ['the own table, which the library replays into,', false, () => readOwnTable('rebuild')],
  ])('%s agrees', async (_who, isTable, read) => {
    const lines = await read()
    const found = new Map([...(isTable ? unreadableOnes : []), ...lines].map((line) => [line.id, line]))
    expect(lines).toHaveLength(isTable ? plant : expected.size)
    // One difference of each kind: the report of Vitest for two maps of this size would be endless.
    const ids = new Set([...found.keys(), ...expected.keys()])
    const pairs = [...ids].map((id) => ({ id, found: found.get(id), expected: expected.get(id) }))
    const different = pairs.filter((pair) => !isDeepStrictEqual(pair.found, pair.expected))
    expect(Object.fromEntries(different.map((pair) => [kindOf.get(pair.id) ?? `no kind: ${pair.id}`, pair]))).toEqual(
      {},
    )
  })

  async function readTableByStreams(): Promise<PlantLine[]> {
    const file = newFile('streams.jsonl')
    await runExample('java-streams', ['dump', file], settings)
    return parsed(linesIn(file))
  }

  async function readTableByConnect(): Promise<PlantLine[]> {
    const file = newFile('connect.jsonl')
    const running = await startExample('connect', [], { ...settings, PLANTS_FILE: file })
    // It may write a row again.
    const rows = () => [...new Set(linesIn(file))]
    await vi.waitFor(() => expect(rows().length).toBeGreaterThanOrEqual(plant), { ...WAIT, timeout: 120_000 })
    await running.kill()
    return parsed(rows())
  }

  async function readTableByLibrary(): Promise<PlantLine[]> {
    const brokers = inject('kafkaBrokers').split(',')
    const plants = await plantTable({ brokers, table: table.topic, log: quietLog })
    await plants.ready
    await plants.close()
    return [...plants].map(lineOf)
  }

  async function readByPython(): Promise<PlantLine[]> {
    const [file, dump] = [newFile('python.sqlite'), newFile('python.jsonl')]
    await runExample('python', ['--store', file, 'counts'])
    const database = new DatabaseSync(file, { readOnly: true })
    const read = () => Number(database.prepare('SELECT total(offset) AS read FROM position').get()?.read)
    for (const kill of KILLS) {
      const running = await startExample('python', ['--store', file, 'follow'], settings)
      await vi.waitFor(() => expect(read()).toBeGreaterThan(kill), { ...WAIT, interval: 5 })
      await running.kill()
    }
    database.close()
    await runExample('python', ['--store', file, 'follow', '--until-end'], settings)
    const lines = await runExample('python', ['--store', file, 'dump', dump])
    // Each record counts once.
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(counts)
    return parsed(linesIn(dump))
  }

  async function readByJava(): Promise<PlantLine[]> {
    const file = newFile('java.jsonl')
    const lines = await runExample('java', ['dump', file], settings)
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(counts)
    return parsed(linesIn(file))
  }

  async function readByLibrary(firstClaims: ReturnType<typeof inMemory>): Promise<PlantLine[]> {
    const found = new Map<bigint, PlantLine>()
    const consumer = await consumePlants({
      ...{ brokers: inject('kafkaBrokers').split(','), topic: store.topic, log: quietLog },
      ...{ groupId: `agreement-${randomUUID()}`, firstClaims },
      onPlantsCreated: (events) => {
        for (const event of events) found.set(event.id, lineOf(event))
      },
      onParked: () => {},
    })
    await vi.waitFor(() => expect(consumer.lag()).toBe(0), WAIT)
    await consumer.stop()
    return [...found.values()]
  }

  async function readOwnTable(command?: 'rebuild'): Promise<PlantLine[]> {
    const [own, file] = [['--table', newFile('table.sqlite')], newFile('table.jsonl')]
    await runExample('own-table', [...own, 'follow', '--until-end'], settings)
    if (command !== undefined) {
      const lines = await runExample('own-table', [...own, command], settings)
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject(counts)
    }
    await runExample('own-table', [...own, 'dump', file])
    return parsed(linesIn(file))
  }

  it('Kafka Streams joins waterings with the table', async () => {
    const own = { ...settings, WATERINGS_TOPIC: `waterings-${randomUUID()}` }
    const [line] = [...expected.values()].filter((one) => !one.unreadable) as [PlantLine]
    const following = await startExample('java-streams', ['follow'], own)
    await vi.waitFor(() => expect(following.output()).toContain('following'), WAIT)
    await runExample('java-streams', ['water', line.id, '0.5'], own)
    await vi.waitFor(() => expect(following.output()).toContain(`0.5 l for ${JSON.stringify(line)}`), WAIT)
  })
})
