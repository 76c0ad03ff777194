import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Request and response header with the name that client and logs have for a request. */
export const REQUEST_ID_HEADER = 'x-request-id'

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/**
 * The id that the client gave its request: 1 to 128 visible ASCII characters; for anything else, and for several (Node
 * makes one text of them, with a space), a new one.
 */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID_HEADER]
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
