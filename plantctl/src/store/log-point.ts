import {
  type ConsistencyToken,
  type LogPosition,
  parsePosition,
  parseToken,
} from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../command.ts'

/** A moment in all partitions, in ms since 1970. */
type Moment = { is: 'moment'; ms: number }

/** A point in the log: a moment, or a position in one partition. */
export type LogPoint = Moment | { is: 'position'; position: LogPosition }

/** A point in the whole log: a moment, or the last offset of some partitions. */
export type AsOfPoint = Moment | { is: 'positions'; positions: ConsistencyToken }

const AGO = /^([1-9]\d{0,6})([smhd])$/
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/

/**
 * Parses the value of an option: `3-120`, an instant in UTC, or `15m` before `now` (ms since 1970). Throws a
 * UsageError.
 */
export function logPointOf(option: string, text: string, partitions: number, now: number): LogPoint {
  const position = parsePosition(text, partitions)
  if (position !== undefined) return { is: 'position', position }
  const ms = momentOf(text, now)
  if (ms !== undefined) return { is: 'moment', ms }
  throw new UsageError(
    `${option} ${text}: expected a position such as 3-120 (partition, at most ${partitions - 1}, and offset), an instant ` +
      'such as 2027-01-31T00:00:00Z, or how long ago: 30s, 15m, 2h or 7d',
  )
}

/**
 * Parses an instant in UTC, how long ago (`2h`), or positions (`3-120,5-7`; the highest of each partition counts).
 * Throws a UsageError for anything else and for the future; `now` in ms since 1970.
 */
export function asOfPointOf(text: string, partitions: number, now: number): AsOfPoint {
  const ms = momentOf(text, now)
  if (ms !== undefined && ms > now) throw new UsageError(`${text} is in the future: the log can change until then`)
  if (ms !== undefined) return { is: 'moment', ms }
  const hasEmptyMember = text.split(',').some((member) => member.trim() === '')
  const positions = hasEmptyMember ? undefined : parseToken(text, partitions)
  if (positions !== undefined) return { is: 'positions', positions }
  throw new UsageError(
    `${text}: expected an instant such as 2027-01-31T00:00:00Z or 2027-01-31T00:00:00.250Z, how long ago (30s, 15m, ` +
      `2h or 7d), or positions such as 3-120,5-7 (partition, at most ${partitions - 1}, and offset)`,
  )
}

function momentOf(text: string, now: number): number | undefined {
  const [, count, unit] = AGO.exec(text) ?? []
  // Negative timestamps have a special meaning in Kafka.
  if (count !== undefined) return Math.max(0, now - Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS])
  if (!INSTANT.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse turns 31 February into March, and hour 24 into the next day.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 19)) ? ms : undefined
}
