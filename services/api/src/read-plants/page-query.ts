import { HttpError } from '../http/errors.ts'
import { type Cursor, decodeCursor, firstCursor } from './cursor.ts'

export const MAX_LIMIT = 1_000
export const DEFAULT_LIMIT = 100

const CANONICAL_INTEGER = /^[1-9][0-9]{0,3}$/

/** A parameter that is absent, given once, or several times. */
type Parameter = string | readonly string[] | undefined

/** What a request asks for by its query. Throws an HttpError for a limit or cursor that is none. */
export function parsePageQuery(
  { limit, cursor }: { limit?: Parameter; cursor?: Parameter },
  partitions: number,
): { limit: number; cursor: Cursor } {
  return { limit: parseLimit(limit), cursor: parseCursor(cursor, partitions) }
}

// Not TypeBox's conversion: it makes 1 of "1.5" and of "true".
function parseLimit(limit: Parameter): number {
  if (limit === undefined) return DEFAULT_LIMIT
  if (typeof limit !== 'string' || !CANONICAL_INTEGER.test(limit) || Number(limit) > MAX_LIMIT) {
    throw new HttpError('invalidLimit')
  }
  return Number(limit)
}

function parseCursor(cursor: Parameter, partitions: number): Cursor {
  if (cursor === undefined) return firstCursor(partitions)
  const decoded = typeof cursor === 'string' ? decodeCursor(cursor, partitions) : undefined
  if (decoded === undefined) throw new HttpError('invalidCursor')
  return decoded
}
