const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** How an instant is written, for messages. */
export const INSTANT_EXAMPLE = '2027-01-31T00:00:00Z'

/** Milliseconds since 1970 of an RFC 3339 instant in UTC, whole seconds; undefined for what is none. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse makes March of 31 February, and the next day of hour 24.
  return !Number.isNaN(ms) && formatInstant(ms) === text ? ms : undefined
}

/** The last whole second that is not after it. */
export function formatInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
