import { formatInstant, INSTANT_EXAMPLE, parseInstant } from '@plant-store/shared/access/instant.ts'
import { UsageError } from '../command.ts'

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^([1-9]\d{0,6})([mhd])$/
const MAX_LIFETIME_MS = 3_650 * UNITS_MS.d

/**
 * When something ends that is to last so long (`90d`, `12h`, `30m`) or until an instant; milliseconds since 1970, as is
 * `now`. Throws a UsageError for what is neither, not in the future, or more than ten years away.
 */
export function endOf(text: string, now: number): number {
  const endsAt = endOfDuration(text, now) ?? parseInstant(text)
  if (endsAt === undefined) {
    throw new UsageError(`--expires ${text}: expected 90d, 12h, 30m or an instant such as ${INSTANT_EXAMPLE}`)
  }
  if (endsAt <= now) throw new UsageError(`--expires ${text}: this is past; it is ${formatInstant(now)}`)
  if (endsAt - now > MAX_LIFETIME_MS) throw new UsageError(`--expires ${text}: expected ten years at most`)
  return endsAt
}

function endOfDuration(text: string, now: number): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  // Entries have whole seconds.
  return Math.ceil((now + Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]) / 1000) * 1000
}
