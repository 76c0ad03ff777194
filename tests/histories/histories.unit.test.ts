import type { Offset } from '@plant-store/shared/plant/offset.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import type { LookedUp, WindowFace } from '@plant-store/shared/protocol/view.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { playHistory, RULES, type Rules } from './history.ts'

const HISTORIES = 20_000
/** A wrong rule that is not caught within so many histories counts as not caught. */
const HISTORIES_FOR_WRONG_RULES = 40_000

const choices = fc.array(fc.nat(1_000), { minLength: 150, maxLength: 900, size: 'max' })

function search(rules: Rules, numRuns: number) {
  return fc.check(
    fc.property(choices, (history) => {
      const broken = playHistory(history, rules)
      if (broken !== undefined) throw new Error(broken)
    }),
    { numRuns, endOnFailure: true },
  )
}

describe('the deciding code, driven through generated histories', () => {
  it('keeps every promise', () => {
    const { failed, errorInstance, seed } = search(RULES, HISTORIES)
    expect(failed, `seed ${seed}: ${String(errorInstance)}`).toBe(false)
  })

  const lastWins: Partial<Rules> = { firstWins: () => 'created' }
  const noCoverageCheck: Partial<Rules> = {
    firstOf(id, { entry }: LookedUp, window) {
      const first = entry ?? window.firstClaim(id)
      return first === undefined ? { is: 'absent' } : { is: 'claimed', first }
    },
  }
  const noCheckOfAWindowThatMovedOn: Partial<Rules> = {
    afterAppend(id, _checkpoint, window) {
      const first = window.firstClaim(id)
      return first === undefined ? { is: 'waiting' } : { is: 'decided', first }
    },
  }
  const noCompareAndSet: Partial<Rules> = { checkpointHolds: () => true }
  const startTakenBeforeTheAnswer: Partial<Rules> = {
    windowToJudgeWith: (now: WindowFace, startWhenAsked: Offset) => ({
      start: startWhenAsked,
      next: now.next,
      firstClaim: (id) => now.firstClaim(id),
    }),
  }
  const anyDeliveryTaken: Partial<Rules> = {
    admit: ({ offset }, { records, last }) => {
      const later = records.filter((record) => record.offset > offset)
      return { do: 'apply', records: later, checkpoint: checkpointAt(last, later) }
    },
  }
  const noHorizon: Partial<Rules> = { reachesHorizon: () => true }
  const noPosition: Partial<Rules> = { reachesPosition: () => true }

  it.each([
    ['the last claim wins', lastWins],
    ['a gap between read model and window is not noticed', noCoverageCheck],
    ['a window that moved on still decides', noCheckOfAWindowThatMovedOn],
    ['the read model takes records that do not follow its checkpoint', noCompareAndSet],
    ['a delivery from beyond the checkpoint is taken', anyDeliveryTaken],
    ['where the window begins is taken before the read model has answered', startTakenBeforeTheAnswer],
    ['what the instance has shown is forgotten', noHorizon],
    ["the client's position is not heeded", noPosition],
  ])('is caught when it goes wrong: %s', (_name, wrong) => {
    expect(search({ ...RULES, ...wrong }, HISTORIES_FOR_WRONG_RULES).failed).toBe(true)
  })
})
