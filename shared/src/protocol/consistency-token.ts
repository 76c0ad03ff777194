import { formatPosition, type Offset, type Partition, parsePosition } from '../plant/position.ts'

/** The highest offset that a client has seen in each partition. A partition of which it has seen nothing is absent. */
export type ConsistencyToken = ReadonlyMap<Partition, Offset>

const EMPTY = /^[ \t]*$/

/** Formats a token as positions separated by commas: `3-120, 5-7`. */
export function formatToken(token: ConsistencyToken): string {
  return [...token].map(([partition, offset]) => formatPosition({ partition, offset })).join(', ')
}

/**
 * Parses a consistency token. The highest position of each partition counts, so that a client may join tokens with
 * commas. Empty list members are ignored (RFC 9110, 5.6.1). Returns undefined when a member is not a position, or when
 * the list is empty.
 */
export function parseToken(text: string, partitions: number): ConsistencyToken | undefined {
  const token = new Map<Partition, Offset>()
  for (const member of text.split(',')) {
    if (EMPTY.test(member)) continue
    const position = parsePosition(member, partitions)
    if (position === undefined) return undefined
    const { partition, offset } = position
    if (offset > (token.get(partition) ?? -1)) token.set(partition, offset)
  }
  return token.size === 0 ? undefined : token
}
