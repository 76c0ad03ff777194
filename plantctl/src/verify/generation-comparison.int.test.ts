import { emptyPartition, emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import { expect, it } from 'vitest'
import { GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { countsOf, createGenerationVerifier } from './generation-comparison.ts'
import { ofSlice } from './slice.ts'

it('reports progress while it reads the log for other slices', async () => {
  const { readModel } = await openCorruptible()
  const reader = readModel.generations
  let reads = 0
  const readsOfLog: number[] = []
  const verify = createGenerationVerifier({
    reader,
    partitions: 2,
    async foldSlice(_partition, _upTo, slice, { onRead }) {
      const before = reads
      onRead()
      readsOfLog.push(reads - before)
      return fold(emptyPartition(), ofSlice(slice, RECORDS))
    },
  })
  const slice = { index: 0, count: 3 }
  const folded = fold(emptyPartitionOf(createPackedClaims()), ofSlice(slice, RECORDS))
  const counts = countsOf(folded)
  const state = await reader.state(P, GENERATION)
  const differences = await verify(
    P,
    GENERATION,
    folded,
    { checkpoint: LOG.next, slice, counts, state },
    {
      onRead: () => void reads++,
      signal: new AbortController().signal,
    },
  )
  expect(differences).toEqual([])
  expect(readsOfLog).toEqual([1, 1])
})
