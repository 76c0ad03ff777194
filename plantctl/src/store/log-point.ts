import { parseInstant } from '@plant-store/shared/access/token-entry.ts'
import { offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'
import { type ConsistencyToken, parseToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { UsageError } from '../command.ts'
import { durationOf } from '../options.ts'
import type { Store } from './open-store.ts'

/** A point in the log: a moment, in ms since 1970, or the highest offset of some partitions. */
export type LogPoint = { is: 'moment'; ms: number } | { is: 'positions'; positions: ConsistencyToken }

/** Parses positions (`3-120,5-7`), an instant in UTC, or `15m` before `now`. Throws a UsageError. */
export function logPointOf(option: string, text: string, partitions: number, now: number): LogPoint {
  const ms = momentOf(text, now)
  // Negative timestamps have a special meaning in Kafka.
  if (ms !== undefined) return { is: 'moment', ms: Math.max(0, ms) }
  const hasEmptyMember = text.split(',').some((member) => member.trim() === '')
  const positions = hasEmptyMember ? undefined : parseToken(text, partitions)
  if (positions !== undefined) return { is: 'positions', positions }
  throw new UsageError(
    `${option} ${text}: expected a position such as 3-120 (partition, at most ${partitions - 1}, and offset), an instant ` +
      'such as 2027-01-31T00:00:00Z, or how long ago: 30s, 15m, 2h or 7d',
  )
}

/**
 * The offset of a point in each partition that it concerns: of a moment, the first record at or after it; of a position,
 * `ofPosition` of its offset.
 */
export async function offsetsOf(
  { kafka, topic }: Store,
  point: LogPoint | undefined,
  ofPosition: (offset: Offset) => Offset,
): Promise<Offset[]> {
  if (point?.is === 'moment') return offsetsAt(kafka, topic, point.ms)
  const offsets: Offset[] = []
  for (const [partition, offset] of point?.positions ?? []) offsets[partition] = ofPosition(offset)
  return offsets
}

function momentOf(text: string, now: number): number | undefined {
  const agoMs = durationOf(text)
  if (agoMs !== undefined) return now - agoMs
  const wholeSeconds = text.replace(/\.\d{1,3}Z$/, 'Z')
  return parseInstant(wholeSeconds) === undefined ? undefined : Date.parse(text)
}
