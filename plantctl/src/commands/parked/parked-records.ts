import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'

export type ParkedRecord = { offset: Offset; reason: number }

/** A rebuild that switches during the scan drops the generation that is read; then the scan starts again. */
const ATTEMPTS_MAX = 5

type Reader = Pick<Generations, 'state' | 'parked'>

/**
 * Reads the first `max` parked records of a partition's live generation after an offset, in order. Memory is bounded by
 * `max`. Records that are parked during the scan may be included.
 */
export async function parkedAfter(
  reader: Reader,
  partition: Partition,
  after: Offset,
  max: number,
): Promise<ParkedRecord[]> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const { live } = await reader.state(partition)
    let lowest: ParkedRecord[] = []
    for await (const batch of reader.parked(partition, live)) {
      for (const [offset, reason] of batch) {
        const record = parseParked(offset, reason)
        if (record !== undefined && record.offset > after) lowest.push(record)
      }
      if (lowest.length > 2 * max) lowest = firstOf(lowest, max)
    }
    if ((await reader.state(partition)).live === live) return firstOf(lowest, max)
  }
  throw new Error(
    `the live generation of partition ${partition} changed ${ATTEMPTS_MAX} times during the scan: wait until no rebuild runs`,
  )
}

/** Sorted, without repetitions: a scan in Redis may return a field twice. */
function firstOf(records: readonly ParkedRecord[], max: number): ParkedRecord[] {
  const byOffset = new Map(records.map((record) => [record.offset, record]))
  return [...byOffset.values()].sort((a, b) => a.offset - b.offset).slice(0, max)
}

/** Undefined for an invalid field, which no release writes: plantctl verify reports it. */
function parseParked(offset: string, reason: string): ParkedRecord | undefined {
  return /^\d{1,15}$/.test(offset) && /^\d{1,9}$/.test(reason)
    ? { offset: offsetOf(offset), reason: Number(reason) }
    : undefined
}
