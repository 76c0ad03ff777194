import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { jsonStructureOf } from '@plant-store/shared/plant/payload.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parse } from 'lossless-json'
import { HttpError } from './errors.ts'

/** The deepest nesting of objects and arrays: a plant needs one, and the parser is recursive. */
const MAX_DEPTH = 32
/** Most chunks of a body that are kept apart: each takes 200 bytes, and a client may send one for each byte. */
const MAX_CHUNKS = 64
const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19
/** The end of a message of the parser. */
const AT_POSITION = / at position (\d+)$/

/**
 * Accepts only bodies that are JSON in UTF-8, of at most `maxBytes`. The service requests a body ("100 Continue") only when
 * no earlier check has already led to a response.
 */
export function acceptJsonBodies(app: FastifyInstance, maxBytes: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (_request: unknown, payload: IncomingMessage) =>
    parseJsonBody(await readBody(payload, maxBytes)),
  )

  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.method !== 'POST') dropBody(request)
    try {
      assertReadableBody(request, maxBytes)
    } catch (error) {
      return done(error as HttpError)
    }
    // Without the 100 Node ends the connection: it could not distinguish the body from another request. HTTP/1.0 has no
    // expectations, and a client would take the 100 for the response (RFC 9110 10.1.1).
    if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') reply.raw.writeContinue()
    done()
  })
}

/**
 * Frees the body of a request that needs it no more, and what still arrives of it. The response may have to wait, for
 * the log or for earlier ones of its connection, and parsed JSON takes twenty times the memory of its text.
 */
export function dropBody(request: FastifyRequest): void {
  request.body = undefined
  request.raw.resume()
}

/** Throws an HttpError for a body that cannot be read according to the request's head. */
function assertReadableBody({ headers, method }: FastifyRequest, maxBytes: number): void {
  // Fastify looks at the media type when it has the body.
  if (headers.expect !== undefined && method === 'POST' && !JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new HttpError('unsupportedMediaType')
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const message = 'the Content-Encoding of the body is not supported; send the body uncompressed'
    throw new HttpError('unsupportedMediaType', message, { 'accept-encoding': 'identity' })
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    const message = 'the charset of the body is not supported; send JSON in UTF-8 (RFC 8259) and omit the charset'
    throw new HttpError('unsupportedMediaType', message)
  }
  if (Number(headers['content-length']) > maxBytes) throw new HttpError('bodyTooLarge')
}

function readBody(payload: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let chunks: Buffer[] = []
  let bytes = 0
  payload.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    chunks.push(chunk)
    if (chunks.length === MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
    if (bytes <= maxBytes) return
    chunks = []
    reject(new HttpError('bodyTooLarge'))
  })
  payload.on('end', () => resolve(Buffer.concat(chunks)))
  // The client has left.
  payload.on('error', () => reject(new HttpError('malformedRequest')))
  return promise
}

/** A number in a body that is not an integer of at most 19 digits. The schemas accept it for no field. */
export class OtherNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * The number as a bigint if it is an integer in any spelling (JSON Schema: 1.0, 1e3 and -0 are integers). The digits
 * are counted before they are created, so that 1e999999999 allocates nothing.
 */
export function exactInteger(text: string): bigint | OtherNumber {
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = NUMBER.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0n
  const significant = withoutTrailingZeros(digits)
  const zeros = Number(exponentText) - fraction.length + (digits.length - significant.length)
  if (zeros < 0 || significant.length + zeros > INT64_DIGITS) return new OtherNumber(text)
  return BigInt(sign + significant + '0'.repeat(zeros))
}

// Not /0+$/: it starts again at each zero of a run that is not the last one, which takes 25 s for 65,000 zeros.
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/**
 * Parses a JSON body with every integer exact. Throws an HttpError for a body that is not JSON in UTF-8, is nested
 * deeper than 32 objects and arrays, or has an object with a duplicate key (RFC 8259, 4: its meaning is unpredictable).
 */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) throw new HttpError('malformedJson', 'the body is empty; send a JSON object')
  // Decoding would replace invalid bytes with U+FFFD, and store another name than the client sent.
  if (!isUtf8(body)) throw new HttpError('malformedJson', 'the body is not valid UTF-8')
  const { depth, members } = jsonStructureOf(body)
  if (depth > MAX_DEPTH)
    throw new HttpError('malformedJson', `the body is nested deeper than ${MAX_DEPTH} objects and arrays`)
  let value: unknown
  try {
    value = parse(body.toString(), undefined, { parseNumber: exactInteger, onDuplicateKey: ({ newValue }) => newValue })
  } catch (error) {
    const [, position] = AT_POSITION.exec((error as Error).message) ?? []
    const place = position === undefined ? '' : ` at character ${Number(position) + 1}`
    throw new HttpError('malformedJson', `the body is not valid JSON${place}; send a JSON object as in RFC 8259`)
  }
  if (countMembers(value) !== members) throw new HttpError('malformedJson', 'an object in the body has a duplicate key')
  return value
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof OtherNumber) return 0
  const values = Object.values(value)
  const own = Array.isArray(value) ? 0 : values.length
  return values.reduce((count: number, inner) => count + countMembers(inner), own)
}
