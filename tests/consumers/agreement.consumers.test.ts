import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { consumePlants, inFile, inMemory, plantTable } from '@plant-store/shared/consumer/consumer.ts'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { openPlantStore, type PlantStore } from '../support/plant-store.ts'
import { followTable, WITH_TABLE } from '../support/plants-table.ts'
import { quietLog } from '../support/quiet-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTableTopic, type TestTopic, tableTopicOf } from '../support/topic.ts'
import { expectReadModelToEqual, readTruth } from '../support/truth.ts'
import { type PlantLine, plantsOfLog, readDump } from './dump.ts'
import { generateLog } from './generated-log.ts'
import { runExample, startExample } from './run-example.ts'
import { writeGeneratedLog } from './write-generated-log.ts'

// Consumers in several languages implement "first claim wins" independently. All of them read one log that contains
// everything a reader may get wrong, and must agree. AGREEMENT_SEED repeats a run, or generates another log.

const RECORDS = 100_000
const SEED = Number(process.env.AGREEMENT_SEED ?? 1)
/** The numbers of records after which Python is killed. */
const KILLS = [RECORDS * 0.1, RECORDS * 0.4, RECORDS * 0.7]
const WAIT_MS = 60_000

describe(`on a log of ${RECORDS} records, AGREEMENT_SEED=${SEED}`, () => {
  const generated = generateLog(SEED, RECORDS, 6)
  const { plant, unreadable, void: voids, repeated, foreign } = generated.counts
  const counts = { plants: plant, unreadable, voids, repeated, foreign }
  let store: PlantStore
  let expected: Map<string, PlantLine>
  let settings: NodeJS.ProcessEnv
  let table: TestTopic

  /** One difference of each kind: the report of Vitest for two maps of this size would be endless. */
  function differences(found: ReadonlyMap<string, PlantLine>): Record<string, object> {
    const ids = new Set([...found.keys(), ...expected.keys()])
    const pairs = [...ids].map((id) => ({ id, found: found.get(id), expected: expected.get(id) }))
    const different = pairs.filter((pair) => !isDeepStrictEqual(pair.found, pair.expected))
    return Object.fromEntries(different.map((pair) => [generated.kindOf.get(pair.id) ?? `no kind: ${pair.id}`, pair]))
  }

  const unreadableOnes = () => [...expected].filter(([, { unreadable }]) => unreadable)

  beforeAll(async () => {
    store = await openPlantStore()
    settings = {
      ...{ KAFKA_BROKERS: inject('kafkaBrokers'), PLANTS_TOPIC: store.topic },
      PLANTS_TABLE: tableTopicOf(store),
    }
    await writeGeneratedLog(generated, store)
    table = await createTableTopic(store)
    await store.startProjector(WITH_TABLE)
    expected = await plantsOfLog(store)
  })
  afterAll(() => store.end())

  it('the product folds the log to what its generator expects', () => {
    const { length } = unreadableOnes()
    expect({ plants: expected.size - length, unreadable: length }).toEqual({ plants: plant, unreadable })
  })

  it('the read model of the projector is that fold', async () => {
    const truth = await readTruth(store)
    expect(truth.states.reduce((sum, state) => sum + state.voids, 0)).toBe(voids)
    await expectReadModelToEqual(truth, store)
  })

  it('the table is that fold, without the unreadable claims', async () => {
    await (await followTable(table)).expectToEqual(await readTruth(store))
  })

  it.each([
    ['Python, which reads the table', readTableByPython],
    ['Kafka Streams, which reads the table', readTableByStreams],
    ['Kafka Connect, which reads the table', readTableByConnect],
    ['the library, which reads the table', readTableByLibrary],
  ])('%s, agrees', async (_who, readPlants) => {
    const found = await readPlants()
    expect(found).toHaveLength(plant)
    expect(
      differences(new Map([...unreadableOnes(), ...found.map((line): [string, PlantLine] => [line.id, line])])),
    ).toEqual({})
  })

  async function readTableByPython(): Promise<PlantLine[]> {
    return (await runExample('python-table', [], settings)).map((line) => JSON.parse(line))
  }

  async function readTableByStreams(): Promise<PlantLine[]> {
    const file = join(temporaryFolder(), 'streams.jsonl')
    await runExample('java-streams', ['dump', file], settings)
    return [...readDump(file).values()]
  }

  async function readTableByConnect(): Promise<PlantLine[]> {
    const file = join(temporaryFolder(), 'connect.jsonl')
    const running = await startExample('connect', [], { ...settings, PLANTS_FILE: file })
    const lines = () => [...new Set(readFileSync(file, 'utf8').split('\n').slice(0, -1))]
    await vi.waitFor(() => expect(lines().length).toBeGreaterThanOrEqual(plant), {
      timeout: 2 * WAIT_MS,
      interval: 200,
    })
    await running.kill()
    return lines().map((line) => JSON.parse(line))
  }

  async function readTableByLibrary(): Promise<PlantLine[]> {
    const brokers = inject('kafkaBrokers').split(',')
    const plants = await plantTable({ brokers, table: table.topic, log: quietLog })
    await plants.ready
    await plants.close()
    return [...plants].map(({ id, name, tag }) => ({ id: String(id), name, ...(tag !== undefined && { tag }) }))
  }

  it('Kafka Streams joins waterings with the table', async () => {
    const own = { ...settings, WATERINGS_TOPIC: `waterings-${randomUUID()}` }
    const [[id, line]] = [...expected].filter(([, { unreadable }]) => !unreadable) as [[string, PlantLine]]
    const following = await startExample('java-streams', ['follow'], own)
    await vi.waitFor(() => expect(following.output()).toContain('following'), { timeout: WAIT_MS })
    await runExample('java-streams', ['water', id, '0.5'], own)
    await vi.waitFor(() => expect(following.output()).toContain('0.5 l for '), { timeout: WAIT_MS })
    expect(following.output()).toContain(`0.5 l for ${JSON.stringify(line)}`)
  })

  it('Python agrees, and counts each record once, though it is killed while it reads', async () => {
    const folder = temporaryFolder()
    const [file, dump] = [join(folder, 'python.sqlite'), join(folder, 'python.jsonl')]
    await runExample('python', ['--store', file, 'counts'])
    const database = new DatabaseSync(file, { readOnly: true })
    const read = () => Number(database.prepare('SELECT total(offset) AS read FROM position').get()?.read)
    for (const kill of KILLS) {
      const running = await startExample('python', ['--store', file, 'follow'], settings)
      await vi.waitFor(() => expect(read()).toBeGreaterThan(kill), { timeout: WAIT_MS, interval: 5 })
      await running.kill()
    }
    database.close()
    await runExample('python', ['--store', file, 'follow', '--until-end'], settings)
    const lines = await runExample('python', ['--store', file, 'dump', dump])
    expect(differences(readDump(dump))).toEqual({})
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(counts)
  })

  it('Java agrees', async () => {
    const file = join(temporaryFolder(), 'java.jsonl')
    const lines = await runExample('java', ['dump', file], settings)
    expect(differences(readDump(file))).toEqual({})
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(counts)
  })

  it.each([
    ['in memory', inMemory],
    ['in a file', () => inFile(join(temporaryFolder(), 'claims.sqlite'))],
  ])('the library agrees, with first claims %s', async (_where, open) => {
    const found = new Map<string, PlantLine>(unreadableOnes())
    const consumer = await consumePlants({
      ...{ brokers: inject('kafkaBrokers').split(','), topic: store.topic, log: quietLog },
      ...{ groupId: `agreement-${randomUUID()}`, firstClaims: open() },
      onPlantsCreated: (events) => {
        for (const { id, name, tag } of events) {
          found.set(String(id), { id: String(id), name, ...(tag !== undefined && { tag }) })
        }
      },
      onParked: () => {},
    })
    await vi.waitFor(() => expect(consumer.lag()).toBe(0), { timeout: WAIT_MS, interval: 50 })
    await consumer.stop()
    expect(differences(found)).toEqual({})
  })

  it('the own table agrees, which the library keeps up to date, and replays into', async () => {
    const folder = temporaryFolder()
    const [own, file] = [['--table', join(folder, 'table.sqlite')], join(folder, 'table.jsonl')]
    await runExample('own-table', [...own, 'follow', '--until-end'], settings)
    await runExample('own-table', [...own, 'dump', file])
    expect(differences(readDump(file))).toEqual({})
    const lines = await runExample('own-table', [...own, 'rebuild'], settings)
    await runExample('own-table', [...own, 'dump', file])
    expect(differences(readDump(file))).toEqual({})
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject(counts)
  })
})
