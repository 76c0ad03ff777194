import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { firstOffsets } from '../../../../tests/support/modelled-claims.ts'
import { claimAt, eventId } from '../../../../tests/support/small-log.ts'
import type { Claim, LogRecord } from '../../plant/plant-created.ts'
import { BEFORE_FIRST, offsetOf, type Partition } from '../../plant/position.ts'
import { emptyPartition, fold } from '../../protocol/first-wins.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { entryVerdict } from './first-claims.ts'

const P = 0 as Partition

describe('the verdict of the read model on a claim', () => {
  it('agrees with a Map at any checkpoint, and is unknown after the checkpoint', () => {
    fc.assert(
      fc.property(logs, fc.nat(9), (log, foldedBatches) => {
        const first = firstOffsets(log)
        const model = fold(
          emptyPartition(),
          log.slice(0, foldedBatches).flatMap(({ records }) => records),
        )
        const checkpoint = log.slice(0, foldedBatches).at(-1)?.next.offset ?? BEFORE_FIRST
        for (const { claim } of log.flatMap(({ records }): LogRecord[] => records)) {
          if (claim === undefined) continue
          const entry = model.plants.get(claim.id)
          const verdict = entryVerdict(P, claim, { entry, checkpoint })
          const known = claim.offset <= checkpoint || entry !== undefined
          const truth = first.get(claim.id) === claim.offset ? 'first' : 'later'
          expect(verdict).toBe(known ? truth : 'unknown')
        }
      }),
    )
  })

  const claim = claimAt(5, 1n).claim as Claim
  it.each([
    ['has passed it and has no entry', undefined, 5],
    ['has an entry that lies beyond it', claimAt(6, 1n).claim, 9],
    ['has another event there', claimAt(5, 1n, { eventId: eventId(9) }).claim, 5],
  ])('is an error when the model %s: it belongs to another log', (_, entry, checkpoint) => {
    const judge = () => entryVerdict(P, claim, { entry, checkpoint: offsetOf(checkpoint) })
    expect(judge).toThrow(PreconditionError)
    expect(judge).toThrow(/another log.* offset 5\. /s)
  })

  it('is decided by an entry even if the checkpoint has fallen back before it', () => {
    expect(entryVerdict(P, claim, { entry: claim, checkpoint: BEFORE_FIRST })).toBe('first')
  })
})
