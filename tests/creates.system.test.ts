import { expect, it } from 'vitest'
import { createPlant, errorOf, onConnections } from './support/client.ts'
import { createPlantStore } from './support/plant-store.ts'
import { expectTruth } from './support/truth.ts'

it('64 connections racing on the same 500 ids over two apis: one 200 for each id', async () => {
  const store = await createPlantStore()
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  const attempts = Array.from({ length: 4_000 }, (_, n) => ({ id: BigInt(n >> 3), name: `attempt ${n}` }))

  const creates = await onConnections(64, attempts, ({ id, name }, connection) =>
    createPlant(connection % 2 === 0 ? first.url : second.url, id, name),
  )

  expect(creates.filter(({ response }) => response?.status === 200)).toHaveLength(500)
  expect(creates.filter(({ response }) => errorOf(response) === 40003)).toHaveLength(3_500)
  await expectTruth(store, creates)
})
