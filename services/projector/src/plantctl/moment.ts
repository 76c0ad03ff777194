import { INSTANT_EXAMPLE, parseInstant } from '@plant-store/shared/access/instant.ts'
import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import { UsageError } from './command.ts'

/** A moment of the log: an instant (milliseconds since 1970), or the last offset of some partitions. */
export type Moment =
  | { is: 'instant'; ms: number }
  | { is: 'positions'; positions: ReadonlyMap<Partition, Offset> }

const UNITS_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const AGO = /^(\d{1,7})([smhd])$/
const WITH_MILLISECONDS = /^(.*:\d\d)\.(\d{3})Z$/
/** Offsets have 48 bits. */
const POSITION = /^(\d{1,4})-(\d{1,14})$/
const EXPECTED =
  `expected an instant in UTC (${INSTANT_EXAMPLE}, with .250 before the Z if you like), how long ago (90s, 30m, 12h, ` +
  '7d), or positions (3-120,5-7)'

/** Throws a UsageError for what is no moment, or lies in the future. `now` in milliseconds since 1970. */
export function momentOf(text: string, partitions: number, now: number): Moment {
  const [, count, unit] = AGO.exec(text) ?? []
  if (count !== undefined && unit !== undefined)
    return { is: 'instant', ms: Math.max(0, now - Number(count) * (UNITS_MS[unit] as number)) }
  const ms = instantMs(text)
  if (ms === undefined) return { is: 'positions', positions: positionsOf(text, partitions) }
  if (ms > now) throw new UsageError(`${text} is yet to come: nobody can tell how it will be then`)
  return { is: 'instant', ms }
}

function instantMs(text: string): number | undefined {
  const [, seconds, milliseconds] = WITH_MILLISECONDS.exec(text) ?? []
  if (seconds === undefined) return parseInstant(text)
  const whole = parseInstant(`${seconds}Z`)
  return whole === undefined ? undefined : whole + Number(milliseconds)
}

function positionsOf(text: string, partitions: number): Map<Partition, Offset> {
  const positions = new Map<Partition, Offset>()
  for (const member of text.split(',')) {
    const [, partition, offset] = POSITION.exec(member.trim()) ?? []
    if (partition === undefined || offset === undefined) throw new UsageError(`${text}: ${EXPECTED}`)
    const key = Number(partition) as Partition
    if (key >= partitions)
      throw new UsageError(
        `${member.trim()}: there are only ${partitions} partitions, 0 to ${partitions - 1}`,
      )
    if (Number(offset) > (positions.get(key) ?? -1)) positions.set(key, offsetOf(offset))
  }
  return positions
}
