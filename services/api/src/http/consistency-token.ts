import { type ConsistencyToken, formatToken, parseToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { HttpError } from './errors.ts'

/** Response and request header that carries the consistency token. Clients treat its value as opaque. */
export const TOKEN_HEADER = 'plants-position'

const MAX_POSITION_CHARACTERS = '9999-999999999999999, '.length
/** Room for the tokens of several responses that a client joined. */
const MIN_HEADER_CHARACTERS = 1_000
const EMPTY_TOKEN: ConsistencyToken = new Map()

/** Empty when the client sent none. Throws an HttpError for a value that this service never sends. */
export function tokenOf(header: string | string[] | undefined, partitions: number): ConsistencyToken {
  if (header === undefined) return EMPTY_TOKEN
  const text = String(header)
  const maxCharacters = Math.max(MIN_HEADER_CHARACTERS, partitions * MAX_POSITION_CHARACTERS)
  const token = text.length > maxCharacters ? undefined : parseToken(text, partitions)
  if (token === undefined) throw new HttpError('invalidPosition')
  return token
}

/** The failure of a read that this instance could not answer before the deadline; it names the positions of the request. */
export function notCovered(token: ConsistencyToken, cause: unknown): HttpError {
  const message =
    token.size === 0
      ? undefined
      : `this instance does not know all plants up to the position ${formatToken(token)} at the moment; try again if an ` +
        'earlier response had it, or without it if the store has moved'
  return new HttpError('coverageGap', message, {}, cause)
}
