import type { IncomingMessage } from 'node:http'

/**
 * Fields that say one thing once; of several Node would take the first, and a proxy before it perhaps the last. (Of
 * several Authorization headers authentication tells, which has a challenge to add.)
 */
const SINGLETONS = new Set(['host', 'content-type', 'content-length', 'expect'])
// RFC 9110 4.2.2, RFC 3986 3.2: a name or address, and a port.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/**
 * What is wrong with a request's head though Node takes it (RFC 9112 3.2 and 6.1, RFC 9110 5.3); undefined when
 * nothing is. Node's own check for a Host would answer without a body.
 */
export function faultOfHead({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  // Node's parser takes a line without a version for HTTP/0.9.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'speak HTTP/1.1'
  const { host, 'transfer-encoding': coding } = headers
  if (host === undefined && httpVersion === '1.1') return 'the Host header is missing'
  if (host !== undefined && !HOST.test(host)) return 'the Host header names no host'
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'the only Transfer-Encoding supported is "chunked"'
  // What HTTP/1.0 between here and the client made of it nobody knows (RFC 9112 6.1).
  if (coding !== undefined && httpVersion === '1.0') return 'there is no Transfer-Encoding in HTTP/1.0'
  const repeated = repeatedAmong({ headers, rawHeaders }, SINGLETONS)
  return repeated && `the ${repeated} header is there more than once`
}

/** The first of these names, in lower case, that a second field of the request's head has; undefined when none does. */
export function repeatedAmong(
  { headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  names: ReadonlySet<string>,
): string | undefined {
  // Most requests have no name twice, and Node's `headers` has an entry for each name.
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
