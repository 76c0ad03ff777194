import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, firstWins, fold, type Ruling } from '@plant-store/shared/protocol/first-wins.ts'
import { EntryError } from '@plant-store/shared/read-model/entry.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { type Ruled, rulingsByReadModel, rulingsOfOneId } from './rulings.ts'

const P = 0 as Partition
const records = logs.map((batches) => batches.flatMap(({ records }) => records))
const claimsOf = (records: readonly { claim?: Claim }[]) => records.flatMap(({ claim }) => claim ?? [])

/** What each claim came to, by the rule itself. */
function truthOf(claims: readonly Claim[]): Ruled[] {
  const firsts = new Map<PlantId, Claim>()
  return claims.map((claim) => {
    const first = firsts.get(claim.id)
    const is: Ruling = firstWins(first, claim)
    if (first === undefined) firsts.set(claim.id, claim)
    return { is, first: (first ?? claim).offset }
  })
}

/** The fold of the claims up to a checkpoint, which goes up between two look-ups. */
function readModelOf(claims: readonly Claim[], checkpoints: readonly Offset[]) {
  let lookUps = 0
  return {
    async lookUp([asked]: readonly { ids: readonly PlantId[] }[]) {
      const checkpoint = checkpoints[Math.min(lookUps++, checkpoints.length - 1)] as Offset
      const { plants } = fold(
        emptyPartition(),
        claims.filter(({ offset }) => offset <= checkpoint).map((claim) => ({ offset: claim.offset, claim })),
      )
      return [{ checkpoint, entries: asked?.ids.map((id) => plants.get(id)) ?? [] }]
    },
  }
}

type Case = [records: LogRecord[], checkpoints: number[], from: number, batchSize: number]

/** Where the read model stands at each look-up: here and there, as where Redis falls back. */
const falling: fc.Arbitrary<Case> = fc.tuple(
  records,
  fc.array(fc.integer({ min: -1, max: 30 }), { minLength: 1, maxLength: 6 }),
  fc.nat(20),
  fc.integer({ min: 1, max: 5 }),
)
/** Further on each time. */
const cases = falling.map(
  ([records, checkpoints, ...rest]): Case => [records, checkpoints.sort((a, b) => a - b), ...rest],
)

async function rule([records, checkpoints, from, batchSize]: Case, claimsMax?: number) {
  const claims = claimsOf(records)
  const known = checkpoints as Offset[]
  const rulings = rulingsByReadModel(readModelOf(claims, known), P, known[0], claimsMax)
  const start = rulings.startFor(from as Offset)
  const read = claims.filter(({ offset }) => offset >= start)
  const ruled: [Claim, Ruled][] = []
  for (let n = 0; n < read.length; n += batchSize) {
    const batch = read.slice(n, n + batchSize)
    for (const claim of batch) rulings.note(claim)
    const shown = batch.filter(({ offset }) => offset >= from)
    const told = await rulings.rule(shown)
    ruled.push(...shown.map((claim, m) => [claim, told[m] as Ruled] as [Claim, Ruled]))
  }
  const truth = truthOf(claims)
  return { ruled, expected: claims.flatMap((claim, n) => (claim.offset < from ? [] : [[claim, truth[n]]])) }
}

it('read model and log together tell of every claim what it came to, however far the read model is', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { ruled, expected } = await rule(one)
      expect(ruled).toEqual(expected)
    }),
    { numRuns: 300 },
  )
})

it.each<[string, fc.Arbitrary<Case>, number | undefined]>([
  ['too little memory for what the read model does not know yet', cases, 1],
  ['a read model that falls back', falling, undefined],
  ['both', falling, 1],
])('with %s, nothing wrong is told', async (_what, cases, claimsMax) => {
  let unknown = 0
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { ruled, expected } = await rule(one, claimsMax)
      for (const [n, [claim, told]] of ruled.entries()) {
        if (told.is === 'unknown') unknown++
        else expect([claim, told]).toEqual(expected[n])
      }
    }),
    { numRuns: 1_000 },
  )
  expect(unknown).toBeGreaterThan(0)
})

it('of one id the log alone tells', () => {
  return fc.assert(
    fc.asyncProperty(records, async (records) => {
      const claims = claimsOf(records)
      const id = claims[0]?.id
      fc.pre(id !== undefined)
      const { note, rule } = rulingsOfOneId(id as PlantId)
      for (const claim of claims) note(claim)
      const own = claims.filter((claim) => claim.id === id)
      expect(await rule(own)).toEqual(truthOf(own))
    }),
  )
})

it('a read model that is no fold of this log makes nobody first: an entry from further on, none where there should be one, bytes that are none', async () => {
  const [first, second] = [10, 20].map(
    (offset) => ({ offset, id: 7n, eventId: `${offset}`, plant: undefined }) as unknown as Claim,
  ) as [Claim, Claim]
  const told = async (lookUp: () => Promise<unknown>, checkpoint = 30) => {
    const rulings = rulingsByReadModel(
      { lookUp } as Parameters<typeof rulingsByReadModel>[0],
      P,
      checkpoint as Offset,
    )
    for (const claim of [first, second]) rulings.note(claim)
    return (await rulings.rule([first])).map(({ is }) => is)
  }
  expect(await told(async () => [{ checkpoint: 30, entries: [second] }])).toEqual(['unknown'])
  expect(await told(async () => [{ checkpoint: 30, entries: [undefined] }])).toEqual(['unknown'])
  // Noted though the read model passed it meanwhile: it should have an entry then.
  expect(await told(async () => [{ checkpoint: 30, entries: [undefined] }], BEFORE_FIRST)).toEqual([
    'unknown',
  ])
  expect(await told(async () => [{ checkpoint: BEFORE_FIRST, entries: [undefined] }])).toEqual(['unknown'])
  expect(await told(async () => [{ checkpoint: 30, entries: [new EntryError('no entry')] }])).toEqual([
    'unknown',
  ])
  await expect(told(() => Promise.reject(new Error('Redis is away')))).rejects.toThrow('Redis is away')
})
