import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { LogBatch } from './generated-logs.ts'

/** The batch to go back to after each batch, if any: its records are then delivered again. */
export const jumps = fc.array(fc.option(fc.nat(9)), { maxLength: 6 })

/** The first claim of each id in a log, found with a plain Map. */
export function firstOffsets(batches: readonly LogBatch[]): ReadonlyMap<PlantId, Offset> {
  const { plants } = fold(
    emptyPartition(),
    batches.flatMap(({ records }) => records),
  )
  return new Map([...plants].map(([id, { offset }]) => [id, offset]))
}

export const isFirst =
  (first: ReadonlyMap<PlantId, Offset>) =>
  ({ offset, claim }: LogRecord): boolean =>
    claim !== undefined && first.get(claim.id) === offset

/** Gives a log to first claims, some of it again and again, and compares each response with the response of a Map. */
export async function expectSameAsModel(
  claims: OpenFirstClaims,
  partition: Partition,
  batches: readonly LogBatch[],
  again: readonly (number | null)[] = [],
): Promise<void> {
  const first = firstOffsets(batches)
  const left = [...again]
  for (let at = 0; at < batches.length; at++) {
    const { records, next } = batches[at] as LogBatch
    expect(await claims.firstAmong(partition, records, next)).toEqual(records.filter(isFirst(first)))
    const back = left.shift()
    if (back != null && back < at) at = back - 1
  }
}
