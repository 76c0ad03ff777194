import type { StoredRecord, Traceparent } from '../plant/plant-created.ts'

const TRACEPARENT_FIELDS = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const INVALID_TRACE_VERSION = 'ff'
const ALL_ZERO = /^0+$/
const SAMPLED = 0x01

/**
 * Parses a `traceparent` header. Returns undefined for an invalid header, which the recommendation says to ignore. A
 * header of version 00 is returned unchanged. One of a later version is rewritten with the fields of version 00
 * (3.2.4), because the meaning of further fields, and of flags other than "sampled", is not defined yet. Node joins
 * repeated headers into one text, which is invalid.
 */
export function parseTraceparent(header: string | string[] | undefined): Traceparent | undefined {
  if (header === undefined) return undefined
  const text = String(header)
  const [, version, traceId, parentId, flags, more] = TRACEPARENT_FIELDS.exec(text) ?? []
  if (version === undefined || traceId === undefined || parentId === undefined || flags === undefined) return undefined
  if (version === INVALID_TRACE_VERSION || ALL_ZERO.test(traceId) || ALL_ZERO.test(parentId)) return undefined
  if (version === '00') return more === undefined ? (text as Traceparent) : undefined
  const sampled = Number.parseInt(flags, 16) & SAMPLED
  return `00-${traceId}-${parentId}-0${sampled}` as Traceparent
}

/** The traceparent in the headers of an event; undefined without a valid one. */
export function traceparentIn({ headers: { traceparent } }: StoredRecord): Traceparent | undefined {
  return Buffer.isBuffer(traceparent) ? parseTraceparent(traceparent.toString('latin1')) : undefined
}
