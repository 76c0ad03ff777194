import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { logs } from '../../../../tests/support/generated-logs.ts'
import { expectSameAsModel, jumps } from '../../../../tests/support/modelled-claims.ts'
import { claimAt, eventId } from '../../../../tests/support/small-log.ts'
import type { PlantId } from '../../plant/plant.ts'
import { BEFORE_FIRST, offsetOf, type Partition } from '../../plant/position.ts'
import { checkpointAt } from '../../protocol/checkpoint.ts'
import { createClaimTable } from './claim-table.ts'
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

  it.each([
    ['that differ in their high half only', (n: number) => BigInt(n) << 32n],
    ['at random', (n: number) => BigInt.asIntN(64, BigInt(n) * 0x9e37_79b9_7f4a_7c15n)],
  ])('are kept of a hundred thousand ids %s, over many chunks, in at most 30 bytes each', (_, idOf) => {
    const count = 100_000
    const reserved: number[] = []
    const table = createClaimTable({ reserve: (bytes) => void reserved.push(bytes), eventIds: false })
    const add = (n: number, from: number) =>
      table.add({ id: idOf(n) as PlantId, offset: offsetOf(from + n), eventId: eventId(0) })
    for (let n = 0; n < count; n++) add(n, 2 ** 47)
    for (let n = 0; n < count; n++) if (add(n, 2 ** 47 + count) !== 2 ** 47 + n) throw new Error(`id ${n} was lost`)
    expect(reserved.reduce((sum, bytes) => sum + bytes, 0) / count).toBeLessThan(30)
  })

  it('end with an error that suggests a file when they exceed the limit, which is a whole number', async () => {
    const claims = await inMemory({ maxMib: 1 }).open(LOG)
    const records = Array.from({ length: 60_000 }, (_, n) => claimAt(n, BigInt(n)))
    const taking = claims.firstAmong(P, records, checkpointAt(offsetOf(59_999), records))
    await expect(taking).rejects.toThrow(/more memory than 1 MiB: increase maxMib, or .*inFile\(path\)/)
    expect((await claims.checkpointOf(P))?.offset).toBe(BEFORE_FIRST)
    expect(() => inMemory({ maxMib: 0.5 })).toThrow(/maxMib/)
  })
})
