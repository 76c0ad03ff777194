import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { decompressLz4 } from './lz4.ts'
import { decompressSnappy } from './snappy.ts'

/** The decompressed records of a batch. A producer can compress gigabytes into a batch that Kafka accepts. */
export const MAX_BATCH_BYTES = 64 * 1_048_576

const LIMIT = { maxOutputLength: MAX_BATCH_BYTES }
const [gunzipped, zstdDecompressed] = [promisify(gunzip), promisify(zstdDecompress)]

type Decompress = (records: Buffer) => Promise<Buffer>

/** Kafka's codecs, by their numbers. Each rejects damaged bytes, and more than MAX_BATCH_BYTES of output. */
export const CODECS: readonly { name: string; decompress: Decompress }[] = [
  { name: 'not compressed', decompress: async (records) => records },
  { name: 'gzip', decompress: (records) => gunzipped(records, LIMIT) },
  { name: 'Snappy', decompress: async (records) => decompressSnappy(records, MAX_BATCH_BYTES) },
  { name: 'LZ4', decompress: async (records) => decompressLz4(records, MAX_BATCH_BYTES) },
  { name: 'Zstandard', decompress: (records) => zstdDecompressed(records, LIMIT) },
]
