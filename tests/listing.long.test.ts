import { partitionOf } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { createPlant, idsFrom, onConnections, readPlant, send } from './support/client.ts'
import { type Item, listAll, listPage } from './support/listing.ts'
import { createPlantStore } from './support/plant-store.ts'
import { DEADLINES } from './support/steady-load.ts'
import { readTruth, type Truth } from './support/truth.ts'

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

it('lists and reads reflect tokens; lists read during creates over two apis repeat and skip nothing, and end with every plant', async () => {
  const store = await createPlantStore()
  const [first, second] = await Promise.all([
    // Shorter, for the reads that wait until their deadline.
    store.startApi({ ...DEADLINES, READ_DEADLINE_MS: '15000' }),
    store.startApi(DEADLINES),
    store.startProjector(),
  ])
  for (const id of idsFrom(10_000, 20)) {
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
  expect((await listPage(second.url, { limit: 30 }, { 'plants-position': shown })).page.items).toHaveLength(30)

  const beyond = { 'plants-position': `${shown}, 0-999999` }
  const requests = [send(`${first.url}/plants`, { headers: beyond }), readPlant(first.url, 1n, beyond)]
  for (const response of await Promise.all(requests)) {
    const body = { error: 50303, message: expect.stringContaining('0-999999') }
    expect(response).toMatchObject({ status: 503, body, headers: { 'retry-after': '1' } })
  }

  const urls = [first.url, second.url]
  const created: bigint[] = []
  let isCreating = true
  const creates = onConnections(16, idsFrom(0, 1_500), async (id, connection) => {
    const { response } = await createPlant(urls[connection % 2] as string, id, `plant ${id}`)
    if (response?.status === 200 && connection % 2 === 0) created.push(id)
  }).finally(() => {
    isCreating = false
  })
  const lists: Item[][] = []
  /** Reads list after list; from the first instance, each has every plant that this instance has confirmed before. */
  async function read(from: readonly string[], limit: number): Promise<void> {
    while (isCreating) {
      const known = from === urls ? [] : [...created]
      const items = await listAll(from, limit)
      const ids = new Set(items.map(({ id }) => id))
      expect(known.filter((id) => !ids.has(id))).toEqual([])
      lists.push(items)
    }
  }
  await Promise.all([creates, read([first.url], 7), read([first.url], 1_000), read(urls, 50), read(urls, 3)])

  const truth = await readTruth(store)
  expect(countOf(truth)).toBe(1_540)
  const last = await Promise.all(urls.map((url, n) => listAll([url], n === 0 ? 11 : 1_000)))
  expect(last.map(({ length }) => length)).toEqual([1_540, 1_540])
  for (const items of [...lists, ...last]) expectPrefix(items, truth)
})
