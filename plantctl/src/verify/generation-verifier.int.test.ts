import { emptyPartition, emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { expect, it } from 'vitest'
import { GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { createFoldedPlants } from './folded-plants.ts'
import { createGenerationVerifier } from './generation-verifier.ts'
import { ofSlice } from './slice.ts'

it('the verification of a rebuild tells that it goes on also while it reads the log for other slices', async () => {
  const { readModel } = await openCorruptible()
  const reader = readModel.generations
  let told = 0
  const toldInLog: number[] = []
  const verify = createGenerationVerifier({
    ...{ reader, partitions: 2 },
    async foldSlice(_partition, _upTo, slice, { onRead }) {
      const before = told
      onRead()
      toldInLog.push(told - before)
      return fold(emptyPartition(), ofSlice(slice, RECORDS))
    },
  })
  const slice = { index: 0, count: 3 }
  const state = fold(emptyPartitionOf(createFoldedPlants()), ofSlice(slice, RECORDS))
  const counts = { plants: state.plants.size, voids: state.voids, parked: state.parked.size }
  const found = await reader.state(P, GENERATION)
  const differences = await verify(
    P,
    GENERATION,
    state,
    { checkpoint: LOG.next, slice, counts, found },
    {
      onRead: () => void told++,
      signal: new AbortController().signal,
    },
  )
  expect(differences).toEqual([])
  expect(toldInLog).toEqual([1, 1])
})
