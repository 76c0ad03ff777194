import { emptyPartitionOf, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'
import { expect, it } from 'vitest'
import { GENERATION, LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { countsOf, verifyGeneration } from './generation-comparison.ts'
import { ofSlice } from './slice.ts'

it('reads the log once for each other slice', async () => {
  const { readModel, read } = await openCorruptible()
  const slice = { index: 0, count: 3 }
  const folded = fold(emptyPartitionOf(createPackedClaims()), ofSlice(slice, RECORDS))
  const state = await readModel.generations.state(P, GENERATION)
  const snapshot = { partition: P, checkpoint: LOG.next, slice, fold: folded, counts: countsOf(folded), state }
  const readings: number[] = []
  const differences = await verifyGeneration(readModel.generations, snapshot, {
    partitions: 2,
    read: async (ranges, onRecords) => {
      readings.push(ranges.size)
      await read(ranges, onRecords)
    },
    onRead() {},
  })
  expect(differences).toEqual([])
  expect(readings).toEqual([1, 1])
})
