import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { eventIdOfBytes } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import { type Offset, offsetOf } from '../plant/position.ts'
import { BEFORE_LOG, checkpointAt } from './checkpoint.ts'
import { emptyPartition, fold } from './first-wins.ts'
import { claimsOf, type LogSpan, laterRow, rowsOf, unwritten, writtenUpTo } from './plants-table.ts'

const eventIdOf = (n: number) => eventIdOfBytes(Buffer.alloc(16, n))
const kinds = fc.constantFrom('plant', 'unreadable', 'foreign', 'gap')

/** A log of few ids and events, so that claims are void or repeated. */
const logs = fc.array(fc.tuple(kinds, fc.nat(4), fc.nat(9)), { maxLength: 40 }).map((drawn) =>
  drawn.flatMap(([kind, id, event], n): LogRecord[] => {
    const offset = offsetOf(n)
    if (kind === 'gap') return []
    if (kind === 'foreign') return [{ offset, parked: 1 }]
    const plant = kind === 'plant' ? plantWith({ name: `plant ${id}` }) : undefined
    const claim = { offset, id: BigInt(id) as PlantId, eventId: eventIdOf(event), plant }
    return [kind === 'plant' ? { offset, claim } : { offset, claim, parked: 6 }]
  }),
)

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
      fc.property(logs, fc.integer({ min: -1, max: 40 }), fc.integer({ min: -1, max: 40 }), (log, from, checkpoint) => {
        const claims = claimsOf(spanOf(log, from, 40))
        const { plants } = foldUpTo(log, checkpoint)
        const entries = claims.map(({ id }) => plants.get(id))
        const rows = rowsOf(claims, { checkpoint: checkpoint as Offset, entries })
        const creations = [...foldUpTo(log, 40).plants.values()].filter(({ plant, offset }) => plant && offset > from)
        if (claims.every(({ offset }) => offset <= checkpoint)) expect(rows).toEqual(creations)
        else expect(rows).toBeUndefined()
      }),
    )
  })

  it('have the plants of a newer release, which has filled the read model', () => {
    const isReadable = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 })
    fc.assert(
      fc.property(logs, isReadable, (log, readable) => {
        const { plants } = foldUpTo(log, 40)
        const claims = claimsOf(spanOf(log, -1, 40))
        const entries = claims.map(({ id }) => plants.get(id))
        const ours = claims.map((claim) => (readable[claim.offset] ? claim : { ...claim, plant: undefined }))
        const found = { checkpoint: 40 as Offset, entries }
        expect(rowsOf(ours, found)).toEqual(rowsOf(claims, found))
      }),
    )
  })
})

it('what a span adds to a table is each record after what is written, once; nothing is known of records between the two', () => {
  const offsets = fc.integer({ min: -1, max: 40 })
  fc.assert(
    fc.property(logs, offsets, offsets, fc.nat(10), (log, written, from, length) => {
      const [start, span] = [checkpointAt(written as Offset, []), spanOf(log, from, from + length)]
      const added = unwritten(start, span)
      const records = log.filter(({ offset }) => offset > written && offset <= from + length)
      expect(added).toEqual(from > written ? undefined : { from: start, records, next: span.next })
    }),
  )
})

it('a writer goes on after the latest creation, in whatever order the rows are', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(40), fc.nat(9))), (drawn) => {
      const rows = drawn.map(([offset, event]) => ({
        ...{ offset: offsetOf(offset), id: BigInt(offset) as PlantId, eventId: eventIdOf(event) },
        plant: plantWith({ name: `plant ${offset}` }),
      }))
      const latest = rows.toSorted((a, b) => b.offset - a.offset)[0]
      const expected = latest === undefined ? BEFORE_LOG : { offset: latest.offset, eventId: latest.eventId }
      expect(writtenUpTo(rows.reduce(laterRow, undefined as Row | undefined))).toEqual(expected)
    }),
  )
})
