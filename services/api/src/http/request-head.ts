import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The request and response header with the id of a request, for the client and the logs. */
export const REQUEST_ID_HEADER = 'x-request-id'
/** The longest bearer token, in ASCII characters; the server has room for it in the headers. */
export const MAX_TOKEN_CHARACTERS = 8_192

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/
/**
 * Headers that may occur once only. Node would take the first of several, and a proxy before it perhaps the last.
 * (Authentication rejects several Authorization headers, because it adds a challenge.)
 */
const SINGLETONS = new Set(['host', 'content-type', 'content-length', 'expect'])
// RFC 9110 4.2.2, RFC 3986 3.2: a name or address, and a port.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/**
 * The request id of the client, if it is 1 to 128 visible ASCII characters; otherwise a new one. Several headers get a
 * new one, too: Node joins them with a space.
 */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const id = headers[REQUEST_ID_HEADER]
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : randomUUID()
}

/**
 * The error message for a malformed head that Node accepts (RFC 9112 3.2 and 6.1, RFC 9110 5.3); undefined for a valid
 * one. Node's own check of the Host header would respond without a body.
 */
export function headErrorOf({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  // Node's parser takes a request line without a version for HTTP/0.9.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'the HTTP version is not supported; use HTTP/1.1'
  const { host, 'transfer-encoding': coding } = headers
  if (host === undefined && httpVersion === '1.1') return 'the Host header is missing'
  if (host !== undefined && !HOST.test(host)) return 'the Host header is invalid'
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'the Transfer-Encoding is not supported; use "chunked"'
  // An HTTP/1.0 intermediary may have framed the body in any way (RFC 9112 6.1).
  if (coding !== undefined && httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding; use HTTP/1.1'
  const repeated = repeatedHeader({ headers, rawHeaders }, SINGLETONS)
  return repeated && `the ${repeated} header occurs more than once`
}

/** True for another expectation than `100-continue`. HTTP/1.0 has no expectations (RFC 9110 10.1.1). */
export function expectsOther({ httpVersion, headers: { expect } }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && expect.toLowerCase() !== '100-continue'
}

/** The first of these header names, in lower case, that occurs twice in the request; undefined when none does. */
export function repeatedHeader(
  { headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  names: ReadonlySet<string>,
): string | undefined {
  // Node's `headers` has one entry for each name, and most requests repeat none.
  if (rawHeaders.length === 2 * Object.keys(headers).length) return undefined
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (!names.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** The path and query of a request target that is a whole URL, as one sent to a proxy (RFC 9112 3.2.2). */
export function originForm(target: string): string {
  return /^https?:\/\//i.test(target) ? target.replace(/^https?:\/\/[^/?]*\/?/i, '/') : target
}

/** The router matches `/plants/` as a plant with an empty id. */
export function hasEmptyId(params: unknown): boolean {
  return (params as { id?: string }).id === ''
}
