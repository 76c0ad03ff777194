import { type ConsistencyToken, parseToken } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../command.ts'
import { momentOf } from './log-point.ts'

/** A place in the whole log: a moment (ms since 1970), or the last offset of some partitions. */
export type AsOfPoint = { is: 'moment'; ms: number } | { is: 'positions'; positions: ConsistencyToken }

/**
 * Reads an instant in UTC, how long ago (`2h`), or positions (`3-120,5-7`), of which the highest of each partition counts.
 * Throws a UsageError for what is none of these, and for what is yet to come; `now` in ms since 1970.
 */
export function asOfPoint(text: string, partitions: number, now: number): AsOfPoint {
  const ms = momentOf(text, now)
  if (ms === undefined) return { is: 'positions', positions: positionsOf(text, partitions) }
  if (ms > now) throw new UsageError(`${text} is yet to come: nobody can tell how it will be then`)
  return { is: 'moment', ms }
}

function positionsOf(text: string, partitions: number): ConsistencyToken {
  const hasEmptyMember = text.split(',').some((member) => member.trim() === '')
  const positions = hasEmptyMember ? undefined : parseToken(text, partitions)
  if (positions !== undefined) return positions
  throw new UsageError(
    `${text}: expected an instant such as 2027-01-31T00:00:00Z or 2027-01-31T00:00:00.250Z, how long ago (30s, 15m, ` +
      `2h or 7d), or positions such as 3-120,5-7 (partition, at most ${partitions - 1}, and offset)`,
  )
}
