import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs as batchedLogs } from '../../../tests/support/generated-logs.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Offset } from '../plant/position.ts'
import { checkpointAt } from './checkpoint.ts'
import { emptyPartition, fold } from './first-wins.ts'
import { claimsOf, type LogSpan, rowsOf } from './plants-table.ts'

const logs = batchedLogs.map((batches) => batches.flatMap(({ records }) => records))
/** Behind the end of most logs. */
const END = 60
const offsets = fc.integer({ min: -1, max: END })

const foldUpTo = (records: readonly LogRecord[], checkpoint: number) =>
  fold(
    emptyPartition(),
    records.filter(({ offset }) => offset <= checkpoint),
  )
const spanOf = (records: readonly LogRecord[], from: number, next: number): LogSpan => ({
  from: checkpointAt(from as Offset, []),
  records: records.filter(({ offset }) => offset > from && offset <= next),
  next: checkpointAt(next as Offset, []),
})

describe('the rows of some claims', () => {
  it('are the creations that can be read, and unknown only while the read model is behind', () => {
    fc.assert(
      fc.property(logs, offsets, offsets, (log, from, checkpoint) => {
        const claims = claimsOf(spanOf(log, from, Infinity))
        const { plants } = foldUpTo(log, checkpoint)
        const entries = claims.map(({ id }) => plants.get(id))
        const rows = rowsOf(claims, { checkpoint: checkpoint as Offset, entries })
        const creations = [...foldUpTo(log, Infinity).plants.values()].filter(
          ({ plant, offset }) => plant && offset > from,
        )
        if (claims.every(({ offset }) => offset <= checkpoint)) expect(rows).toEqual(creations)
        else expect(rows).toBeUndefined()
      }),
    )
  })

  it('have the plants of a newer release, which has filled the read model', () => {
    fc.assert(
      fc.property(logs, fc.infiniteStream(fc.boolean()), (log, readable) => {
        const { plants } = foldUpTo(log, Infinity)
        const claims = claimsOf({ records: log })
        const ours = claims.map((claim) => (readable.next().value ? claim : { ...claim, plant: undefined }))
        const found = { checkpoint: Infinity as Offset, entries: claims.map(({ id }) => plants.get(id)) }
        expect(rowsOf(ours, found)).toEqual(rowsOf(claims, found))
      }),
    )
  })
})
