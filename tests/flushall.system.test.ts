import { expect, it, vi } from 'vitest'
import { createPlant, idsWhile, onConnections, readPlant } from './support/client.ts'
import { startOwnRedis } from './support/own-stores.ts'
import { openRedis, startPlantStore } from './support/plant-store.ts'
import { expectTruth } from './support/truth.ts'

const RECOVERY_MS = 120_000
const CREATES_IN_EACH_PHASE = 300

it('FLUSHALL during creates: no second 200, no false 404, and creates resume before the read model is back', async () => {
  const redis = await startOwnRedis()
  const { store, api: first, projector } = await startPlantStore({ redisUrl: redis.url })
  const earlier = Array.from({ length: 1_000 }, (_, n) => BigInt(-1 - n))
  const creates = await onConnections(16, earlier, (id) => createPlant(first.url, id, `earlier ${id}`))
  // The window of this api starts after the plants above: without the read model it has to go back to them.
  const second = await store.startApi()
  const created = { withReadModel: 0, withoutReadModel: 0, refilling: 0 }
  let phase: keyof typeof created = 'withReadModel'
  const reads: { id: bigint; status: number | undefined }[] = []

  async function createAndRead(id: bigint, connection: number): Promise<void> {
    const { url } = connection % 2 === 0 ? first : second
    const began = phase
    const create = await createPlant(url, id, `first ${id}`)
    creates.push(create, await createPlant(url, id, `second ${id}`))
    if (create.response?.status !== 200) return
    if (url === second.url) created[began]++
    for (const known of [id, earlier[Number(id) % earlier.length] as bigint]) {
      reads.push({ id: known, status: (await readPlant(url, known))?.status })
    }
  }
  const clients = onConnections(
    16,
    idsWhile(() => created.refilling < CREATES_IN_EACH_PHASE),
    createAndRead,
  )
  const phaseEnds = () =>
    vi.waitFor(() => expect(created[phase]).toBeGreaterThanOrEqual(CREATES_IN_EACH_PHASE), { timeout: RECOVERY_MS })
  await phaseEnds()
  process.kill(projector.pid, 'SIGSTOP')
  await openRedis(redis.url).flushall()
  phase = 'withoutReadModel'
  await phaseEnds()
  phase = 'refilling'
  process.kill(projector.pid, 'SIGCONT')
  await clients

  expect(reads.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  await expectTruth(store, creates)
})
