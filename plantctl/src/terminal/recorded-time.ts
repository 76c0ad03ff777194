/** When a record was written, in UTC; a number that is no time, as it is: whoever wrote the record may have given it any. */
export function recordedTime(timestampMs: number): string {
  const time = new Date(timestampMs)
  return Number.isNaN(time.getTime()) ? String(timestampMs) : time.toISOString()
}
