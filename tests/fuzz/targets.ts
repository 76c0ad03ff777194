import assert from 'node:assert/strict'
import { tokenOf } from '../../services/api/src/http/consistency-token.ts'
import { HttpError } from '../../services/api/src/http/errors.ts'
import { OtherNumber, parseJsonBody } from '../../services/api/src/http/request-body.ts'
import { decodeCursor, encodeCursor } from '../../services/api/src/read-plants/cursor.ts'
import { formatTokenEntry, parseTokenEntries } from '../../shared/src/access/token-entry.ts'
import { type DecodedRecord, keepCommitted, undecodableIn } from '../../shared/src/kafka-client/fetched-records.ts'
import { kafkajsModule } from '../../shared/src/kafka-client/kafkajs.ts'
import { decompressLz4 } from '../../shared/src/kafka-client/lz4.ts'
import { decompressSnappy } from '../../shared/src/kafka-client/snappy.ts'
import { decodeEntry, EntryError, encodeEntry } from '../../shared/src/plant/entry.ts'
import { version1 } from '../../shared/src/plant/payload.ts'
import { PLANT_FIELDS, type Plant, parsePlantId, textsOf } from '../../shared/src/plant/plant.ts'
import { plantCreated, readRecord } from '../../shared/src/plant/plant-created.ts'
import { type Partition, partitionOf } from '../../shared/src/plant/position.ts'
import { formatToken, parseToken } from '../../shared/src/protocol/consistency-token.ts'
import { PreconditionError } from '../../shared/src/runtime/failures.ts'
import { parseTraceparent } from '../../shared/src/tracing/traceparent.ts'

// Each export is a fuzz target: a function of bytes that come from outside. It throws when the code under test throws
// an error that it does not declare, or returns what it should not.

export { httpRequest } from './http-request.ts'

const PARTITIONS = 3

/** A body that is accepted has the value that JSON.parse returns; one that is rejected has a reason to be. */
export function jsonBody(bytes: Buffer): void {
  const text = bytes.toString()
  const value = thrownBy(() => parseJsonBody(bytes))
  if (value instanceof Error) {
    assertFailure(value, 'malformedJson')
    if (isJson(text)) assert.match(value.message, /UTF-8|nested deeper|duplicate key/i)
    return
  }
  assert.deepStrictEqual(
    withNumbers(value),
    JSON.parse(text, (_key, inner) => (inner === 0 ? 0 : inner)),
  )
}

/** A cursor that is accepted is the only text of its place in the list. */
export function cursor(bytes: Buffer): void {
  const text = bytes.toString('latin1')
  const decoded = decodeCursor(text, PARTITIONS)
  if (decoded === undefined) return
  assert.equal(encodeCursor(decoded), text)
  assert.ok(decoded.partition < PARTITIONS && decoded.listed.length === PARTITIONS)
  assert.ok(decoded.listed.every(Number.isSafeInteger))
}

/** A consistency token that is accepted has the same meaning after it is formatted. */
export function consistencyToken(bytes: Buffer): void {
  const token = thrownBy(() => tokenOf(bytes.toString('latin1'), PARTITIONS))
  if (token instanceof Error) {
    assertFailure(token, 'invalidPosition')
    return
  }
  assert.ok([...token.keys()].every((partition) => partition < PARTITIONS))
  assert.deepEqual(parseToken(formatToken(token), PARTITIONS), token)
}

/** Token entries that are accepted mean the same after they are formatted; an error does not quote them. */
export function tokenEntries(bytes: Buffer): void {
  const text = bytes.toString()
  const entries = thrownBy(() => parseTokenEntries(text, 'the file'))
  if (entries instanceof Error) {
    assert.ok(entries instanceof PreconditionError, entries)
    for (const digest of text.match(/[0-9a-f]{64}/g) ?? []) assert.ok(!entries.message.includes(digest))
    return
  }
  assert.deepEqual(parseTokenEntries(entries.map(formatTokenEntry).join('\n'), 'the file'), entries)
}

/** A header that is accepted is a `traceparent` of version 00. */
export function traceparent(bytes: Buffer): void {
  const parsed = parseTraceparent(bytes.toString('latin1'))
  if (parsed === undefined) return
  assert.match(parsed, /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
  assert.equal(parseTraceparent(parsed), parsed)
}

const Decoder = kafkajsModule('src/protocol/decoder.js')
const decodeFetched = kafkajsModule('src/protocol/requests/fetch/v4/decodeMessages.js')
/** The error codes that a codec throws for bytes that it cannot decompress. */
const CODEC_ERROR = /^(Z_|ZSTD_|ERR_|HPE_)/

/** The records of a fetch are decoded and read, or the first batch is reported, by a RangeError or an error of its codec. */
export async function recordBatches(bytes: Buffer): Promise<void> {
  const records = await committedRecords(bytes)
  const cause = undecodableIn(records)?.cause as (Error & { code?: string }) | undefined
  if (cause !== undefined) {
    assert.ok(cause instanceof RangeError || CODEC_ERROR.test(cause.code ?? ''), cause)
    return
  }
  for (const { offset, key, value, headers = {} } of records) {
    readRecord({ offset: Number(offset) as never, key, value, headers }, 0 as Partition, 1)
  }
}

const MAX_DECOMPRESSED_BYTES = 10_000

/** Bytes are decompressed up to the limit, or rejected with a RangeError. */
function decompressed(bytes: Buffer, decompress: typeof decompressLz4): void {
  const output = thrownBy(() => decompress(bytes, MAX_DECOMPRESSED_BYTES))
  if (output instanceof Error) assert.ok(output instanceof RangeError, output)
  else assert.ok(output.length <= MAX_DECOMPRESSED_BYTES)
}

export const lz4 = (bytes: Buffer): void => decompressed(bytes, decompressLz4)
export const snappy = (bytes: Buffer): void => decompressed(bytes, decompressSnappy)

async function committedRecords(bytes: Buffer): Promise<DecodedRecord[]> {
  const size = Buffer.alloc(4)
  size.writeInt32BE(bytes.length)
  const messages = await decodeFetched(new Decoder(Buffer.concat([size, bytes])))
  return keepCommitted({ messages, abortedTransactions: [{ producerId: '0', firstOffset: '0' }] })
}

/**
 * Any record of the log can be read, and a plant that was read is the same when it is written and read again. The input
 * is the key, `ce_id` and `content-type`, each in a line, and then the payload.
 */
export function event(bytes: Buffer): void {
  const [first, second, third, ...others] = bytes.toString('latin1').split('\n')
  const parts = [first, second, third, others.join('\n')].map((text = '') => Buffer.from(text, 'latin1'))
  const [key, eventId, contentType, value] = parts as [Buffer, Buffer, Buffer, Buffer]
  const partition = partitionOf(key, PARTITIONS)
  const headers = { ce_type: Buffer.from('PlantCreated'), ce_id: eventId, 'content-type': contentType }
  const { claim } = readRecord({ offset: 0 as never, key, value, headers }, partition, PARTITIONS)
  const canonical = version1.readCanonical(value, key)
  if (canonical !== undefined) assertIn(canonical, value)
  if (claim?.plant === undefined) return
  assertIn(claim.plant, value)
  const written = plantCreated({ ...claim.plant, id: claim.id }, claim.eventId, PARTITIONS)
  assert.deepEqual(readRecord({ offset: 0 as never, ...written }, partition, PARTITIONS).claim, claim)
}

const PLANT_ID = parsePlantId('7') ?? assert.fail()

/** An entry of Redis that is accepted is the only one of its claim. */
export function redisEntry(bytes: Buffer): void {
  const claim = thrownBy(() => decodeEntry(PLANT_ID, bytes))
  if (claim instanceof Error) assert.ok(claim instanceof EntryError, claim)
  else assert.deepEqual(encodeEntry(claim), bytes)
}

/** A plant has the texts of its payload; only values of fields of later releases may be ignored. */
function assertIn(plant: Plant, json: Buffer): void {
  const [texts, given] = [textsOf(plant), JSON.parse(json.toString())]
  for (const { name, isLater } of PLANT_FIELDS.fields) {
    assert.ok((texts[name] ?? '').isWellFormed())
    if (!isLater || name in texts) assert.deepEqual(texts[name], given[name])
  }
}

/** The result of `run`, or the error that it throws. */
function thrownBy<T>(run: () => T): T | Error {
  try {
    return run()
  } catch (error) {
    return error as Error
  }
}

function assertFailure(error: Error, failure: HttpError['failure']): void {
  assert.ok(error instanceof HttpError && error.failure === failure, error)
}

function isJson(text: string): boolean {
  return !(thrownBy(() => JSON.parse(text)) instanceof Error)
}

/** The value as JSON.parse would return it. */
function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof OtherNumber) return Number(value.text) || 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withNumbers)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNumbers(inner)]))
}
