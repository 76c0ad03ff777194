import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { expectSameAsModel, jumps } from '../../../../tests/support/modelled-claims.ts'
import { claimAt } from '../../../../tests/support/small-log.ts'
import { BEFORE_FIRST, offsetOf, type Partition } from '../../plant/position.ts'
import { checkpointAt } from '../../protocol/checkpoint.ts'
import { inMemory } from './in-memory.ts'

const [P, OTHER] = [0, 1] as Partition[] as [Partition, Partition]
const LOG = { topic: 'plants', partitions: 2 }

describe('first claims in memory', () => {
  it('agree with a Map, also for repeated records', async () => {
    await fc.assert(
      fc.asyncProperty(logs, logs, jumps, async (log, other, again) => {
        const claims = await inMemory().open(LOG)
        await expectSameAsModel(claims, P, log, again)
        await expectSameAsModel(claims, OTHER, other)
        expect(await claims.checkpointOf(P)).toEqual(log.at(-1)?.next ?? { offset: -1, eventId: '' })
      }),
    )
  })

  it('need a valid memory limit', () => {
    for (const maxMib of [Number.NaN, 0, -1, 0.5])
      expect(() => inMemory({ maxMib })).toThrow(
        expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('maxMib') }),
      )
  })

  it('end with an error that suggests a file when they exceed the limit', async () => {
    const claims = await inMemory({ maxMib: 1 }).open(LOG)
    const records = Array.from({ length: 60_000 }, (_, n) => claimAt(n, newPlant(BigInt(n)).id))
    const taking = claims.firstAmong(P, records, checkpointAt(offsetOf(59_999), records))
    await expect(taking).rejects.toThrow(/1 MiB: increase maxMib, or .*inFile\(path\)/)
    expect((await claims.checkpointOf(P))?.offset).toBe(BEFORE_FIRST)
  })
})
