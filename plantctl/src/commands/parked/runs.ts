import { after, type Offset } from '@plant-store/shared/plant/position.ts'
import type { ParkedRecord } from './parked-records.ts'

/** Parked records that are read from the log in one go: all that lies from the first to before `end`. */
export type Run = { from: Offset; end: Offset; records: ParkedRecord[] }

/** To read over so many records takes about as long as to begin a reading. */
const GAP_MAX = 100_000

/** Records in order, put together where they lie close to each other. */
export function runsOf(records: readonly ParkedRecord[], gapMax = GAP_MAX): Run[] {
  const runs: Run[] = []
  for (const record of records) {
    const run = runs.at(-1)
    if (run !== undefined && record.offset - run.end <= gapMax) {
      run.records.push(record)
      run.end = after(record.offset)
    } else runs.push({ from: record.offset, end: after(record.offset), records: [record] })
  }
  return runs
}
