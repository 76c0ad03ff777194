import { textsOf } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import type { ReadLog } from '../verify/slice.ts'
import { readPlantsOfLog } from './plants-of-log.ts'
import { createExport } from './write-export.ts'

const P = 1 as Partition
const recordsOf = (batches: readonly LogBatch[]) => batches.flatMap(({ records }) => records)

/** Reads a log in memory: one batch of each partition in turn. */
function readerOf(partitions: readonly (readonly LogBatch[])[]): ReadLog {
  return async (ranges, onRecords) => {
    const longest = Math.max(...partitions.map(({ length }) => length))
    for (let n = 0; n < longest; n++) {
      for (const [partition, { end }] of ranges) {
        const { records = [] } = partitions[partition]?.[n] ?? {}
        await onRecords(
          partition,
          records.filter(({ offset }) => offset < end),
        )
      }
    }
  }
}

async function plantsOf(read: ReadLog, ends: Offset[], recordsAtOnceMax: number) {
  const plants = ends.map((): Claim[] => [])
  const partitions: Partition[] = []
  await readPlantsOfLog({
    read,
    ends,
    recordsAtOnceMax,
    async onPlants(partition, claims) {
      partitions.push(partition)
      plants[partition]?.push(...claims)
    },
  })
  expect(partitions).toEqual(partitions.toSorted((a, b) => a - b))
  return plants
}

it('reads, for every end, the plants of a fold up to there, in log order', async () => {
  await fc.assert(
    fc.asyncProperty(logs, logs, fc.constantFrom(1, 4, 1_000), async (first, second, atOnce) => {
      const read = readerOf([first, second])
      const firstEnd = ((first.at(-1)?.next.offset ?? -1) + 1) as Offset
      const folded = [...fold(emptyPartition(), recordsOf(first)).plants.values()]
      const last = second.at(-1)?.next.offset ?? -1
      for (let end = FIRST; end <= last + 1; end++) {
        const prefix = recordsOf(second).filter(({ offset }) => offset < end)
        const expected = [...fold(emptyPartition(), prefix).plants.values()]
        expect(await plantsOf(read, [firstEnd, end], atOnce)).toEqual([folded, expected])
      }
    }),
    { numRuns: 50 },
  )
})

it('writes the same bytes for any number of slices, and another digest for any difference', async () => {
  const exported = async (batches: LogBatch[], end: Offset, recordsAtOnceMax: number) => {
    const written: string[] = []
    const { add, finish } = createExport(async (lines) => void written.push(lines))
    const read = readerOf([[], batches])
    await readPlantsOfLog({ read, ends: [FIRST, end], onPlants: add, recordsAtOnceMax })
    return { ...(await finish('plants', [FIRST, end])), text: written.join('') }
  }
  await fc.assert(
    fc.asyncProperty(logs, fc.constantFrom(1, 4), async (batches, atOnce) => {
      const end = ((batches.at(-1)?.next.offset ?? -1) + 1) as Offset
      const whole = await exported(batches, end, 1_000)
      expect(await exported(batches, end, atOnce)).toEqual(whole)
      const plants = [...fold(emptyPartition(), recordsOf(batches)).plants.values()]
      const lines = whole.text.split('\n').slice(0, -1)
      expect(lines).toHaveLength(plants.length + 1)
      expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual(
        plants.map(({ id, plant, offset, eventId }) => ({
          id: String(id),
          ...(plant === undefined ? { unreadable: true } : textsOf(plant)),
          position: `${P}-${offset}`,
          event: eventId,
        })),
      )
      const lastPlant = plants.at(-1)
      if (lastPlant !== undefined) {
        const shorter = await exported(batches, lastPlant.offset, 1_000)
        expect(shorter.sha256).not.toBe(whole.sha256)
        expect(shorter.plants).toBe(whole.plants - 1)
      }
    }),
    { numRuns: 100 },
  )
})
