import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { after, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { createWindow } from '@plant-store/shared/protocol/window.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createClock } from '../../../../tests/simulation/clock.ts'
import { applyScript, emptyKeys, lookUpScript } from '../../../../tests/simulation/redis-scripts.ts'
import { type LogBatch, logs } from '../../../../tests/support/generated-logs.ts'
import { createFirstClaims, FIRST_CLAIM_WAITS } from './first-claims.ts'

const P = 0 as Partition
const GENERATIONS = ['one', 'another']
/** Look-ups while the read model may fall back; then it has the whole log. */
const ROUNDS = 8
const LAST_ROUND = 20
const ROUND_MS = FIRST_CLAIM_WAITS.lookUpEveryMs + FIRST_CLAIM_WAITS.checkEveryMs

const afterCallbacks = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The read model of this log, in one of the generations, up to an offset. */
function readModelOf(log: readonly LogBatch[], upTo: Offset, freshGeneration: string) {
  const keys = emptyKeys()
  const records = log.flatMap((batch) => batch.records).filter(({ offset }) => offset <= upTo)
  const next = { offset: upTo, eventId: '' as const }
  applyScript(keys, {
    ...{ generation: '', freshGeneration, foldVersion: 1, partitions: 1 },
    ...{ expected: BEFORE_LOG, next, records },
  })
  return keys
}

it('the read model decides each create by the first claim, in whatever state it is at each look-up', async () => {
  await fc.assert(
    fc.asyncProperty(logs, fc.gen(), async (log, draw) => {
      const last = log.at(-1)?.next.offset ?? BEFORE_FIRST
      const claims = Map.groupBy(
        log.flatMap(({ records }) => records.flatMap(({ claim }) => claim ?? [])),
        ({ id }) => id,
      )
      const offsetUpTo = (max: number) => draw(fc.integer, { min: BEFORE_FIRST, max }) as Offset
      function lookUp(ids: readonly PlantId[], max: number, isWhole = false) {
        const upTo = isWhole ? (max as Offset) : offsetUpTo(max)
        return lookUpScript(readModelOf(log, upTo, draw(fc.constantFrom, ...GENERATIONS)), ids)
      }

      const clock = createClock()
      let round = 0
      const firstClaims = createFirstClaims({
        readModel: {
          lookUpEach: (requests) => requests.map(async ({ ids }) => lookUp(ids, last, round >= ROUNDS)),
        },
        window: () => createWindow(after(last), 0),
        time: clock.timeOf({ name: 'api', alive: true, redis: { partitions: [] } }),
        onSlow() {},
        readModelDecides: () => true,
      })
      const decided = new Map<PlantId, Claim>()
      const expected = new Map<PlantId, Claim | undefined>()
      const acknowledged: (() => void)[][] = Array.from({ length: ROUNDS }, () => [])
      for (const [id, ofId] of claims) {
        const { offset, ...own } = draw(fc.constantFrom, ...ofId)
        const { entries, ...applied } = lookUp([id], offset - 1)
        if (entries[0] !== undefined) continue
        expected.set(id, ofId[0])
        const { undecided } = firstClaims.wait({ ...own, ...applied, partition: P }, (first) => decided.set(id, first))
        acknowledged[draw(fc.nat, { max: ROUNDS - 1 })]?.push(() => undecided(offset))
      }
      for (; round < LAST_ROUND; round++) {
        for (const acknowledge of acknowledged[round] ?? []) acknowledge()
        clock.advance(ROUND_MS)
        await afterCallbacks()
      }
      const positions = (each: ReadonlyMap<PlantId, Claim | undefined>) =>
        new Map([...each].map(([id, claim]) => [id, [claim?.offset, claim?.eventId]]))
      expect(positions(decided)).toEqual(positions(expected))
    }),
    { numRuns: 500 },
  )
})
