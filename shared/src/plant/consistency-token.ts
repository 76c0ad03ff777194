import { type Offset, offsetOf, type Partition } from './offset.ts'

/** The place of one record in the log. */
export type LogPosition = { partition: Partition; offset: Offset }

/** The highest offset that a client has seen in each partition; a partition it has seen nothing of is absent. */
export type ConsistencyToken = ReadonlyMap<Partition, Offset>

const POSITION = /^[ \t]*(\d{1,4})-(\d{1,15})[ \t]*$/
const EMPTY = /^[ \t]*$/

/** `3-120`: partition and offset. */
export function formatPosition({ partition, offset }: LogPosition): string {
  return `${partition}-${offset}`
}

/** Undefined for text that is not a position in a topic with this many partitions. */
export function parsePosition(text: string, partitions: number): LogPosition | undefined {
  const [, partition, offset] = POSITION.exec(text) ?? []
  if (partition === undefined || offset === undefined || Number(partition) >= partitions) return undefined
  try {
    return { partition: Number(partition) as Partition, offset: offsetOf(offset) }
  } catch {
    return undefined
  }
}

/** `3-120, 5-7`: positions separated by commas. */
export function formatToken(token: ConsistencyToken): string {
  return [...token].map(([partition, offset]) => formatPosition({ partition, offset })).join(', ')
}

/**
 * Keeps the highest position of each partition, so that tokens may be joined with commas. Empty list members are
 * ignored (RFC 9110, 5.6.1). Undefined for text without a position, or with a member that is not one.
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
