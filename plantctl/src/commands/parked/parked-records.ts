import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'

export type ParkedRecord = { offset: Offset; reason: number }

/** A rebuild that ends meanwhile takes away what is being read; then it is read again. */
const ATTEMPTS_MAX = 5

type Reader = Pick<Generations, 'state' | 'parked'>

/**
 * The first parked records of a partition's live generation after an offset, in order, at most so many: memory is
 * bounded however many there are. Whatever is parked meanwhile may be among them.
 */
export async function parkedAfter(
  reader: Reader,
  partition: Partition,
  after: Offset,
  max: number,
): Promise<ParkedRecord[]> {
  let lowest: ParkedRecord[] = []
  await scan(reader, partition, {
    begin() {
      lowest = []
    },
    take(batch) {
      lowest.push(...batch.filter(({ offset }) => offset > after))
      if (lowest.length > 2 * max) lowest = firstOf(lowest, max)
    },
  })
  return firstOf(lowest, max)
}

/** In order, each once: Redis may tell one twice. */
function firstOf(records: readonly ParkedRecord[], max: number): ParkedRecord[] {
  const byOffset = new Map(records.map((record) => [record.offset, record]))
  return [...byOffset.values()].sort((a, b) => a.offset - b.offset).slice(0, max)
}

type Taking = { begin(): void; take(batch: ParkedRecord[]): void }

async function scan(reader: Reader, partition: Partition, { begin, take }: Taking): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const { live } = await reader.state(partition)
    begin()
    for await (const batch of reader.parked(partition, live)) {
      take(batch.flatMap(([offset, reason]) => parkedRecord(offset, reason) ?? []))
    }
    if ((await reader.state(partition)).live === live) return
  }
  throw new Error(
    `the live generation of partition ${partition} changes again and again: is it being rebuilt over and over?`,
  )
}

/** Undefined for what no release parks: plantctl verify tells of it. */
function parkedRecord(offset: string, reason: string): ParkedRecord | undefined {
  return /^\d{1,15}$/.test(offset) && /^\d{1,9}$/.test(reason)
    ? { offset: offsetOf(offset), reason: Number(reason) }
    : undefined
}
