import { expect, inject, it, vi } from 'vitest'
import { createPlant, errorOf, idsWhile, onConnections, readPlant } from './support/client.ts'
import { startOwnRedis } from './support/own-stores.ts'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { expectReadModelToEqual, expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const RECOVERY_MS = 60_000
const COVERAGE_GAP = 50303

it('FLUSHALL during creates: no second 200, no false 404, and creates resume', async () => {
  const redis = await startOwnRedis()
  const store = await createPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: redis.url })
  const [first, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const earlier = Array.from({ length: 1_000 }, (_, n) => BigInt(-1 - n))
  const creates = await onConnections(16, earlier, (id) => createPlant(first.url, id, `earlier ${id}`))
  // The window of this api starts after the plants above: without the read model it knows no id.
  const second = await store.startApi()
  const seen = { creates: 0, gaps: 0, resumed: 0 }
  const reads: { id: bigint; status: number | undefined }[] = []
  let refilling = false

  async function createAndRead(id: bigint, connection: number): Promise<void> {
    const { url } = connection % 2 === 0 ? first : second
    const create = await createPlant(url, id, `first ${id}`)
    creates.push(create, await createPlant(url, id, `second ${id}`))
    seen.creates++
    if (errorOf(create.response) === COVERAGE_GAP) seen.gaps++
    if (create.response?.status !== 200) return
    if (refilling && url === second.url) seen.resumed++
    for (const known of [id, earlier[Number(id) % earlier.length] as bigint]) {
      reads.push({ id: known, status: (await readPlant(url, known))?.status })
    }
  }
  const clients = onConnections(
    16,
    idsWhile(() => seen.resumed < 1_000),
    createAndRead,
  )
  const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: RECOVERY_MS })
  await until(() => seen.creates > 1_000)
  process.kill(projector.pid, 'SIGSTOP')
  await openRedis(redis.url).flushall()
  await until(() => seen.gaps > 10)
  process.kill(projector.pid, 'SIGCONT')
  refilling = true
  await clients

  expect(reads.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
})
