import { type LogPosition, parsePosition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../command.ts'

/** A point in the log: one position in one partition, or a moment in all of them (ms since 1970). */
export type LogPoint = { is: 'position'; position: LogPosition } | { is: 'moment'; ms: number }

const AGO = /^([1-9]\d{0,6})([smhd])$/
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/

/** Reads what an option says: `3-120`, an instant in UTC, or `15m` for so long before `now` (ms since 1970). Throws a UsageError. */
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

/** Reads an instant in UTC, or how long ago: `15m`; ms since 1970, as is `now`. Undefined for what is neither. */
export function momentOf(text: string, now: number): number | undefined {
  const [, count, unit] = AGO.exec(text) ?? []
  // To Kafka negative times mean something else.
  if (count !== undefined) return Math.max(0, now - Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS])
  if (!INSTANT.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse makes March of 31 February, and the next day of hour 24.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 19)) ? ms : undefined
}
