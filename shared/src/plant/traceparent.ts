declare const brand: unique symbol

/** Where a request stands in a distributed trace: a valid `traceparent` of version 00 (W3C Trace Context, 3.2). */
export type Traceparent = string & { readonly [brand]: 'Traceparent' }

const FIELDS = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const INVALID_VERSION = 'ff'
const ALL_ZERO = /^0+$/
const SAMPLED = 0x01

/**
 * Reads a `traceparent` header; undefined for one that the recommendation calls invalid, which is to be ignored. Of a
 * version to come only the fields are read that version 00 has, and written again as version 00 has them (3.2.4):
 * what may follow them, and flags other than "sampled", nobody knows yet. One of version 00 is left as it is. Node
 * makes one text of several headers, which is none.
 */
export function parseTraceparent(header: string | string[] | undefined): Traceparent | undefined {
  if (header === undefined) return undefined
  const text = String(header)
  const [, version, traceId, parentId, flags, more] = FIELDS.exec(text) ?? []
  if (version === undefined || traceId === undefined || parentId === undefined || flags === undefined)
    return undefined
  if (version === INVALID_VERSION || ALL_ZERO.test(traceId) || ALL_ZERO.test(parentId)) return undefined
  if (version === '00') return more === undefined ? (text as Traceparent) : undefined
  const sampled = Number.parseInt(flags, 16) & SAMPLED
  return `00-${traceId}-${parentId}-0${sampled}` as Traceparent
}
