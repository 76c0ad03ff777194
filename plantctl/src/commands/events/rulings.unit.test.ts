import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, firstWins, fold, type Ruling } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { type ClaimRuling, rulingsByReadModel, rulingsOfOneId } from './rulings.ts'

const P = 0 as Partition
/** Enough for one claim with short texts. */
const ONE_CLAIM_BYTES = 200
const records = logs.map((batches) => batches.flatMap(({ records }) => records))
const claimsOf = (records: readonly { claim?: Claim }[]) => records.flatMap(({ claim }) => claim ?? [])

/** The ruling on each claim by the rule itself. */
function truthOf(claims: readonly Claim[]): ClaimRuling[] {
  const firsts = new Map<PlantId, Claim>()
  return claims.map((claim) => {
    const first = firsts.get(claim.id)
    const is: Ruling = firstWins(first, claim)
    if (first === undefined) firsts.set(claim.id, claim)
    return { is, first: (first ?? claim).offset }
  })
}

/** A read model that folds the claims up to a checkpoint, which moves from look-up to look-up. */
function readModelOf(claims: readonly Claim[], checkpoints: readonly Offset[]) {
  let lookUps = 0
  return {
    async lookUp([request]: readonly { ids: readonly PlantId[] }[]) {
      const checkpoint = checkpoints[Math.min(lookUps++, checkpoints.length - 1)] as Offset
      const { plants } = fold(
        emptyPartition(),
        claims.filter(({ offset }) => offset <= checkpoint).map((claim) => ({ offset: claim.offset, claim })),
      )
      return [{ checkpoint, entries: request?.ids.map((id) => plants.get(id)) ?? [] }]
    },
  }
}

type Case = [records: LogRecord[], checkpoints: number[], from: number, batchSize: number]

/** The checkpoint at each look-up in any order, as when Redis falls back. */
const falling: fc.Arbitrary<Case> = fc.tuple(
  records,
  fc.array(fc.integer({ min: -1, max: 30 }), { minLength: 1, maxLength: 6 }),
  fc.nat(20),
  fc.integer({ min: 1, max: 5 }),
)
/** The checkpoint rises from look-up to look-up. */
const cases = falling.map(
  ([records, checkpoints, ...rest]): Case => [records, checkpoints.sort((a, b) => a - b), ...rest],
)

async function rule([records, checkpoints, from, batchSize]: Case, maxBytes?: number) {
  const claims = claimsOf(records)
  const known = checkpoints as Offset[]
  const rulings = rulingsByReadModel(readModelOf(claims, known), P, known[0], maxBytes)
  const start = rulings.startFor(from as Offset)
  const read = claims.filter(({ offset }) => offset >= start)
  const ruled: [Claim, ClaimRuling][] = []
  for (let n = 0; n < read.length; n += batchSize) {
    const batch = read.slice(n, n + batchSize)
    for (const claim of [...batch, ...batch]) rulings.add(claim)
    const shown = batch.filter(({ offset }) => offset >= from)
    const rulingsOfBatch = await rulings.rule(shown)
    ruled.push(...shown.map((claim, m) => [claim, rulingsOfBatch[m] as ClaimRuling] as [Claim, ClaimRuling]))
  }
  const truth = truthOf(claims)
  return { ruled, expected: claims.flatMap((claim, n) => (claim.offset < from ? [] : [[claim, truth[n]]])) }
}

it.each<[string, fc.Arbitrary<Case>, number | undefined]>([
  ['no fault', cases, undefined],
  ['too little memory for the claims after the checkpoint', cases, ONE_CLAIM_BYTES],
  ['a read model that falls back', falling, undefined],
  ['both', falling, ONE_CLAIM_BYTES],
])('with %s, no ruling is wrong, and none is unknown without a fault', async (what, cases, maxBytes) => {
  let unknown = 0
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { ruled, expected } = await rule(one, maxBytes)
      expect(ruled).toHaveLength(expected.length)
      for (const [n, [claim, ruling]] of ruled.entries()) {
        if (ruling.is === 'unknown') unknown++
        else expect([claim, ruling]).toEqual(expected[n])
      }
    }),
    { numRuns: 1_000 },
  )
  expect(unknown > 0).toBe(what !== 'no fault')
})

it('rules on a single id from the log alone', () => {
  return fc.assert(
    fc.asyncProperty(records, async (records) => {
      const claims = claimsOf(records)
      const id = claims[0]?.id
      fc.pre(id !== undefined)
      const { add, rule } = rulingsOfOneId(id as PlantId)
      for (const claim of claims) add(claim)
      const own = claims.filter((claim) => claim.id === id)
      expect(await rule(own)).toEqual(truthOf(own))
    }),
  )
})

const [first, second] = [10, 20].map(
  (offset) => ({ offset, id: 7n, eventId: `${offset}`, plant: undefined }) as unknown as Claim,
) as [Claim, Claim]

it.each<[string, { entry?: unknown; before?: number; checkpoint?: number }]>([
  ['a later entry', { entry: second }],
  ['no entry', {}],
  ['no entry of an added claim that it has passed since', { before: BEFORE_FIRST }],
  ['no checkpoint any more', { checkpoint: BEFORE_FIRST }],
  ['an invalid entry', { entry: new EntryError('no entry') }],
])('rules unknown by a read model that is no fold of this log: %s', async (_what, found) => {
  const { entry, before = 30, checkpoint = 30 } = found
  const lookUp = async (): Promise<unknown> => [{ checkpoint, entries: [entry] }]
  const rulings = rulingsByReadModel({ lookUp } as Parameters<typeof rulingsByReadModel>[0], P, before as Offset)
  for (const claim of [first, second]) rulings.add(claim)
  expect(await rulings.rule([first])).toEqual([{ is: 'unknown' }])
})
