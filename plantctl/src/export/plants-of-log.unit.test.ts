import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { FIRST, type Offset } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../tests/support/generated-logs.ts'
import type { ReadLog } from '../verify/slice.ts'
import { readPlantsOfLog } from './plants-of-log.ts'
import { createExport } from './write-export.ts'

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

async function exported(read: ReadLog, ends: Offset[], recordsAtOnceMax: number) {
  const written: string[] = []
  const { add, finish } = createExport(async (lines) => void written.push(lines))
  await readPlantsOfLog({ read, ends, onPlants: add, recordsAtOnceMax })
  return { summary: await finish('plants', ends), text: written.join('') }
}

const endOf = (batches: readonly LogBatch[]) => ((batches.at(-1)?.next.offset ?? -1) + 1) as Offset

/** The plants of a partition's fold up to an end, in log order, as an export has them. */
function plantsOf(partition: number, batches: readonly LogBatch[], end: Offset) {
  const { plants } = fold(
    emptyPartition(),
    recordsOf(batches).filter(({ offset }) => offset < end),
  )
  return [...plants.values()].map(({ id, plant, offset, eventId }) => ({
    id: String(id),
    ...(plant === undefined ? { unreadable: true } : textsOf(plant)),
    position: `${partition}-${offset}`,
    event: eventId,
  }))
}

it('exports, for every end, the plants of a fold up to there, in the same bytes for any number of slices', async () => {
  await fc.assert(
    fc.asyncProperty(logs, logs, fc.constantFrom(1, 4), async (first, second, atOnce) => {
      const read = readerOf([first, second])
      const digests = new Set<string>()
      for (let end = FIRST; end <= endOf(second); end++) {
        const ends = [endOf(first), end]
        const whole = await exported(read, ends, 1_000)
        expect(await exported(read, ends, atOnce)).toEqual(whole)
        const expected = [...plantsOf(0, first, endOf(first)), ...plantsOf(1, second, end)]
        const lines = whole.text.trimEnd().split('\n')
        expect(lines.map((line) => JSON.parse(line))).toEqual([...expected, { export: whole.summary }])
        expect(whole.summary.plants).toBe(expected.length)
        digests.add(whole.summary.sha256)
      }
      // Another one with each plant.
      expect(digests.size).toBe(1 + plantsOf(1, second, endOf(second)).length)
    }),
    { numRuns: 30 },
  )
})
