const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** An example for messages. */
export const INSTANT_EXAMPLE = '2027-01-31T00:00:00Z'

/** Parses an RFC 3339 instant in UTC with whole seconds. Returns milliseconds since 1970, or undefined. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse reads 31 February as a day in March, and hour 24 as the next day.
  return !Number.isNaN(ms) && formatInstant(ms) === text ? ms : undefined
}

/** Formats an instant, rounded down to whole seconds. */
export function formatInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
