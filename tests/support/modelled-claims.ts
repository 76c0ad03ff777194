import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { LogBatch } from './generated-logs.ts'

/** The batch to go back to after each batch, if any: its records are then delivered again. */
export const jumps = fc.array(fc.option(fc.nat(9)), { maxLength: 6 })

/** Gives a log to first claims, some of it again and again, and compares each response with the fold of the log. */
export async function expectSameAsModel(
  claims: OpenFirstClaims,
  partition: Partition,
  batches: readonly LogBatch[],
  again: readonly (number | null)[] = [],
): Promise<void> {
  const { plants } = fold(
    emptyPartition(),
    batches.flatMap(({ records }) => records),
  )
  const isFirst = ({ offset, claim }: LogRecord) => claim !== undefined && plants.get(claim.id)?.offset === offset
  const left = [...again]
  for (let at = 0; at < batches.length; at++) {
    const { records, next } = batches[at] as LogBatch
    expect(await claims.firstAmong(partition, records, next)).toEqual(records.filter(isFirst))
    const back = left.shift()
    if (back != null && back < at) at = back - 1
  }
}
