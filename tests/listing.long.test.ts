import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { partitionOf } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it } from 'vitest'
import { createPlant, onConnections, readPlant, send } from './support/client.ts'
import { EDGE_IDS, newPlant } from './support/generated-plants.ts'
import { type Item, listAll, listPage } from './support/listing.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { expectReadModelToEqual, readTruth, type Truth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const range = (count: number, from = 0) => Array.from({ length: count }, (_, n) => BigInt(from + n))

/** Writes records as the api would, and some that it would not. */
async function append(store: PlantStore, records: ReturnType<typeof plantCreated>[]): Promise<void> {
  const appender = createAppender(store.kafka, store.topic)
  for (let at = 0; at < records.length; at += 1_000) await appender.append(records.slice(at, at + 1_000))
  await appender.close()
}

/** In each partition a list begins as the log does: nothing skipped, repeated, invented or in another order. */
function expectPrefix(items: readonly Item[], { states }: Truth): void {
  const partitions = states.length
  for (const [partition, { plants }] of states.entries()) {
    const given = items.filter(({ id }) => partitionOf(Buffer.from(String(id)), partitions) === partition)
    const firsts = [...plants.values()].slice(0, given.length)
    expect(given).toEqual(firsts.map(({ id, plant }) => ({ id, ...plant })))
  }
}

const countOf = ({ states }: Truth) => states.reduce((sum, { plants }) => sum + plants.size, 0)

it('lists read during creates over two apis repeat and skip nothing, and end with every plant', async () => {
  const store = await createPlantStore(stores)
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  const urls = [first.url, second.url]
  const created: bigint[] = []
  let creating = true
  const creates = onConnections(16, range(4_000), async (id, connection) => {
    const { response } = await createPlant(urls[connection % 2] as string, id, `plant ${id}`)
    if (response?.status === 200 && connection % 2 === 0) created.push(id)
  }).finally(() => {
    creating = false
  })
  const lists: Item[][] = []
  /** Reads list after list from one instance; each has every plant that this instance has confirmed before. */
  async function pageThrough(limit: number): Promise<void> {
    while (creating) {
      const known = [...created]
      const items = await listAll([first.url], limit)
      const ids = new Set(items.map(({ id }) => id))
      expect(known.filter((id) => !ids.has(id))).toEqual([])
      lists.push(items)
    }
  }
  async function pageAcross(limit: number): Promise<void> {
    while (creating) lists.push(await listAll(urls, limit))
  }

  await Promise.all([creates, pageThrough(7), pageThrough(1_000), pageAcross(50), pageAcross(3)])

  const truth = await readTruth(store)
  expect(countOf(truth)).toBe(4_000)
  for (const items of lists) expectPrefix(items, truth)
  for (const url of urls) {
    for (const limit of [11, 1_000]) {
      const items = await listAll([url], limit)
      expect(items).toHaveLength(4_000)
      expectPrefix(items, truth)
    }
  }
})

it('without a projector, plants that the read model does not have are listed from the window', async () => {
  const store = await createPlantStore(stores)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const create = (id: bigint) => createPlant(api.url, id, `plant ${id}`)
  await onConnections(16, range(500), create)
  await expectReadModelToEqual(await readTruth(store), store)
  process.kill(projector.pid, 'SIGSTOP')
  await onConnections(16, range(1_500, 500), create)

  const truth = await readTruth(store)
  for (const limit of [13, 1_000]) {
    const items = await listAll([api.url], limit)
    expect(items).toHaveLength(2_000)
    expectPrefix(items, truth)
  }
  process.kill(projector.pid, 'SIGCONT')
  await expectReadModelToEqual(truth, store)
  expectPrefix(await listAll([api.url], 100), truth)
})

it('a list and a read with consistency tokens reflect all of them, on another instance too', async () => {
  const store = await createPlantStore(stores)
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  for (const id of range(60)) {
    const created = [createPlant(first.url, id, 'a'), createPlant(first.url, id + 1_000n, 'b')]
    const positions = (await Promise.all(created)).map(({ response }) => String(response?.headers['plants-position']))
    const headers = { 'plants-position': positions.join(', ') }
    const ids = (await listAll([second.url], 1_000, headers)).map((item) => item.id)
    expect(ids).toContain(id)
    expect(ids).toContain(id + 1_000n)
    expect((await readPlant(second.url, id, headers))?.status).toBe(200)
  }
  const shown = String((await listPage(first.url, { limit: 1_000 })).headers['plants-position'])
  expect(shown.split(', ')).toHaveLength(store.partitions)
  expect((await listPage(second.url, {}, { 'plants-position': shown })).page.items).toHaveLength(100)

  const beyond = { 'plants-position': `${shown}, 0-999999` }
  for (const response of [
    await send(`${first.url}/plants`, { headers: beyond }),
    await readPlant(first.url, 1n, beyond),
  ]) {
    const body = { error: 50303, message: expect.stringContaining('0-999999') }
    expect(response).toMatchObject({ status: 503, body, headers: { 'retry-after': '1' } })
  }
})

it('the ids of a list are exact at the ends of int64, and a list may be empty', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  const empty = await listPage(api.url)
  expect(empty.text).toBe('{"items":[]}')
  expect(empty.headers).not.toHaveProperty('plants-position')

  await createPlant(api.url, 2n ** 63n - 1n, '\u0000"🌱')
  const { text } = await listPage(api.url)
  expect(text).toBe('{"items":[{"id":9223372036854775807,"name":"\\u0000\\"🌱","tag":"test"}]}')
  for (const id of EDGE_IDS) await createPlant(api.url, id, `plant ${id}`)
  const ids = (await listAll([api.url], 3)).map(({ id }) => id)
  expect(new Set(ids)).toEqual(new Set(EDGE_IDS))
  expect(ids).toHaveLength(EDGE_IDS.length)
})

it('invalid limits, cursors and consistency tokens are rejected, each with its error number; other parameters are ignored', async () => {
  const store = await createPlantStore(stores)
  const api = await store.startApi({ READ_DEADLINE_MS: '300' })
  await onConnections(4, range(5), (id) => createPlant(api.url, id, `plant ${id}`))
  const get = (query: string, headers = {}) => send(`${api.url}/plants${query}`, { headers })
  const next = String((await listPage(api.url, { limit: 2 })).page.next)

  for (const limit of ['', '0', '1001', '01', '%2B1', '1.5', '1e2', 'true', '1&limit=2'])
    expect(await get(`?limit=${limit}`)).toMatchObject({ status: 400, body: { error: 40007 } })
  for (const cursor of [
    '',
    'x',
    `${next}=`,
    next.slice(1),
    next.toUpperCase(),
    `${next}&cursor=${next}`,
    'A'.repeat(9_000),
  ])
    expect(await get(`?cursor=${cursor}`)).toMatchObject({ status: 400, body: { error: 40008 } })
  for (const position of ['x', '0-1 0-2', '99-1'])
    expect(await get('', { 'plants-position': position })).toMatchObject({
      status: 400,
      body: { error: 40006 },
    })
  expect(await get('', { authorization: '' })).toMatchObject({ status: 401 })
  expect(await get(`?limit=3&cursor=${next}&colour=green&limits=x`)).toMatchObject({ status: 200 })
  expect((await listPage(api.url)).page.items).toHaveLength(5)

  // Another store's cursor, further than this log: the api cannot know whether there is more.
  const other = await createPlantStore(stores)
  const otherApi = await other.startApi()
  await onConnections(16, range(100), (id) => createPlant(otherApi.url, id, `plant ${id}`))
  const far = String((await listPage(otherApi.url, { limit: 90 })).page.next)
  expect(await get(`?cursor=${far}`)).toMatchObject({ status: 503, body: { error: 50303 } })
})

it('a claim that this release cannot read is not among the items, and its id is reported', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  const record = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, store.partitions)
  const unreadable = record(2n ** 63n - 1n)
  unreadable.headers['content-type'] = Buffer.from('application/json; version=9')
  await append(store, [record(1n), unreadable, record(2n)])
  await expectReadModelToEqual(await readTruth(store), store)

  const { page, text } = await listPage(api.url)
  expect(new Set(page.items.map(({ id }) => id))).toEqual(new Set([1n, 2n]))
  expect(text).toContain('"unreadable":[9223372036854775807]')
  const pages = []
  for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n++) {
    const one = await listPage(api.url, { limit: 1, cursor })
    pages.push(one.page)
    cursor = one.page.next
  }
  expect(pages.flatMap(({ items, unreadable: ids = [] }) => [...items.map(({ id }) => id), ...ids])).toHaveLength(3)
})

it('20,000 plants are listed in pages of 1,000', async () => {
  const store = await createPlantStore(stores)
  await append(
    store,
    range(20_000).map((id) => plantCreated(newPlant(id), randomUUID() as EventId, store.partitions)),
  )
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const items: Item[] = []
  const sizes: number[] = []
  for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n++) {
    const { page } = await listPage(api.url, { limit: 1_000, cursor })
    sizes.push(page.items.length)
    items.push(...page.items)
    cursor = page.next
  }
  expect(sizes).toEqual([...Array(20).fill(1_000), 0])
  expect(items).toHaveLength(20_000)
  expectPrefix(items, truth)
})
