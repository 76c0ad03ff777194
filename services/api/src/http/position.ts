import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import { HttpError } from './errors.ts'

/**
 * Response and request header that carries log positions, several separated by commas; to clients it is
 * opaque: they send back what they got, and join what they got several times.
 */
export const POSITION_HEADER = 'plants-position'

export type Position = { partition: Partition; offset: Offset }

/** What a client has seen of each partition, where it told. */
export type Positions = ReadonlyMap<Partition, Offset>

const POSITION = /^[ \t]*(\d{1,4})-(\d{1,15})[ \t]*$/
const EMPTY = /^[ \t]*$/
const MAX_POSITION_CHARACTERS = '9999-999999999999999, '.length
/** Room for the positions of some answers that a client joined without looking into them. */
const MIN_HEADER_CHARACTERS = 1_000

export function formatPosition({ partition, offset }: Position): string {
  return `${partition}-${offset}`
}

export function formatPositions(positions: Positions): string {
  return [...positions].map(([partition, offset]) => formatPosition({ partition, offset })).join(', ')
}

/**
 * The highest position of each partition; none when the client sent none. Header fields that are sent twice arrive as
 * one list, and a list may have empty members (RFC 9110, 5.3 and 5.6.1). Throws an HttpError for
 * what no answers can have given.
 */
export function parsePositions(header: string | string[] | undefined, partitions: number): Positions {
  const positions = new Map<Partition, Offset>()
  if (header === undefined) return positions
  const text = String(header)
  const maxCharacters = Math.max(MIN_HEADER_CHARACTERS, partitions * MAX_POSITION_CHARACTERS)
  if (text.length > maxCharacters) throw new HttpError('invalidPosition')
  for (const member of text.split(',')) {
    if (EMPTY.test(member)) continue
    const { partition, offset } = parsePosition(member, partitions)
    if (offset > (positions.get(partition) ?? -1)) positions.set(partition, offset)
  }
  if (positions.size === 0) throw new HttpError('invalidPosition')
  return positions
}

function parsePosition(text: string, partitions: number): Position {
  const [, partition, offset] = POSITION.exec(text) ?? []
  if (partition === undefined || offset === undefined || Number(partition) >= partitions) {
    throw new HttpError('invalidPosition')
  }
  try {
    return { partition: Number(partition) as Partition, offset: offsetOf(offset) }
  } catch {
    throw new HttpError('invalidPosition')
  }
}
