import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { TransientMap } from '../runtime/transient-map.ts'
import { consumersById } from './consumer-by-topic-id.ts'
import { batchDecoder } from './decode-batch.ts'
import { fetchedDecoder, fetchedReader } from './decode-fetched.ts'
import { produceRequest } from './encode-produce.ts'
import { fetchById } from './fetch-v13.ts'
import { groupByPartition } from './group-by-partition.ts'
import { keepCommitted } from './keep-committed.ts'
import { metadataWithIds } from './metadata-v10.ts'
import { createPrivateModules } from './private-modules.ts'

// kafkajs 2.2.4 with what has to be corrected in it. The only place where the package is loaded.

/** What is put in place of its modules here was held to those of this version. */
const VERSION = '2.2.4'

/**
 * A kafkajs of this library alone: the application may have one of its own, and neither is to see what is done to the
 * other. By way of require.cache it could not be, since kafkajs requires many of its modules only when it needs them.
 */
const modules = createPrivateModules(createRequire(import.meta.url).resolve('kafkajs/package.json'), VERSION)

const CLUSTER = 'src/cluster/index.js'
const REQUEST_QUEUE = 'src/network/requestQueue/index.js'
const OFFSET_MANAGER = 'src/consumer/offsetManager/index.js'
const LONG = 'src/utils/long.js'
const DECODE_FETCHED = 'src/protocol/requests/fetch/v4/decodeMessages.js'
const DECODER = 'src/protocol/decoder.js'
const ENCODER = 'src/protocol/encoder.js'
const METADATA = 'src/protocol/requests/metadata/index.js'
const FETCH = 'src/protocol/requests/fetch/index.js'
const CONSUMER = 'src/consumer/index.js'
const BROKER_POOL = 'src/cluster/brokerPool.js'
const DECODE_MESSAGE_SET = 'src/protocol/messageSet/decoder.js'
const PRODUCE_REQUEST = 'src/protocol/requests/produce/v3/request.js'
const COMPRESSION = 'src/protocol/message/compression/index.js'
const GROUP_BY_PARTITION = 'src/producer/groupMessagesPerPartition.js'
const FILTER_ABORTED = 'src/consumer/filterAbortedMessages.js'
const PENDING_CHECK_MS = 10
const MAX_BATCH_BYTES = 64 * 1_048_576

type Topics = { topics?: string[] }

type RequestQueue = {
  inflight: unknown
  pending: unknown[]
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
}

function correctedQueue(RequestQueue: new (...options: unknown[]) => RequestQueue) {
  return class extends RequestQueue {
    // A few at a time, hundreds a second, each with all that it sends: what a Map leaves of them is as good as a leak.
    override inflight = new TransientMap<number, unknown>()

    /**
     * kafkajs re-arms a timer of about 1 ms for ever on each connection: some 900 wake-ups a second and a
     * TimeoutNegativeWarning on current Node. This one is armed only while requests wait.
     */
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return
      const throttledMs = this.throttledUntil - Date.now()
      this.throttleCheckTimeoutId = setTimeout(
        () => {
          this.throttleCheckTimeoutId = null
          this.checkPendingRequests()
        },
        Math.max(throttledMs, PENDING_CHECK_MS),
      )
    }
  }
}

/**
 * kafkajs drops the errors of the brokers it asks for metadata (one that was away may not lead anything yet) and
 * then reads a property of nothing. This says what happened; who asked may ask again.
 */
function metadataOrError(ask: (this: unknown, topics?: Topics) => Promise<object | null>) {
  return async function metadata(this: unknown, topics?: Topics): Promise<object> {
    const answer = await ask.call(this, topics)
    if (answer === null) throw new Error(`no broker tells the metadata of ${topics?.topics?.join(', ')}`)
    return answer
  }
}

type OffsetManager = { resolveOffset(next: { topic: string; partition: number; offset: string }): void }

/**
 * After a fetch out of range kafkajs commits -2 for the group, and its position is lost, though the log may be put
 * back. This begins at the log's beginning only: readers here find out by themselves that it is another log.
 */
async function setDefaultOffset(
  this: OffsetManager,
  { topic, partition }: { topic: string; partition: number },
): Promise<void> {
  this.resolveOffset({ topic, partition, offset: '-1' })
}

function load(): typeof import('kafkajs') {
  // Before those are loaded that use it.
  modules.replace(FILTER_ABORTED, keepCommitted)
  modules.replace(REQUEST_QUEUE, correctedQueue(modules.load(REQUEST_QUEUE)))
  const { lookupCodec, lookupCodecByAttributes } = modules.load(COMPRESSION)
  const [Decoder, decodeMessageSet] = [modules.load(DECODER), modules.load(DECODE_MESSAGE_SET)]
  const decodeBatch = batchDecoder(lookupCodecByAttributes)
  const decodeFetched = fetchedDecoder(decodeBatch, Decoder, decodeMessageSet)
  modules.replace(DECODE_FETCHED, fetchedReader(decodeFetched))
  modules.replace(FETCH, fetchById(modules.load(FETCH), Decoder, decodeFetched))
  modules.replace(METADATA, metadataWithIds(modules.load(METADATA), modules.load(ENCODER), Decoder))
  modules.replace(PRODUCE_REQUEST, produceRequest(modules.load(LONG), lookupCodec))
  modules.replace(GROUP_BY_PARTITION, groupByPartition)
  Object.assign(modules.load(OFFSET_MANAGER).prototype, { setDefaultOffset })
  const cluster = modules.load(CLUSTER).prototype
  cluster.metadata = metadataOrError(cluster.metadata)
  // It takes the versions of the first broker for those of all. While a cluster is upgraded each has its own.
  Object.defineProperty(modules.load(BROKER_POOL).prototype, 'versions', { get: () => null, set() {} })
  modules.replace(CONSUMER, consumersById(modules.load(CONSUMER)))
  const loaded: typeof import('kafkajs') = modules.load('index.js')
  // Without a codec one batch that anybody compressed this way stops every reader for ever.
  loaded.CompressionCodecs[loaded.CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => promisify(zstdCompress)(buffer),
    decompress: (buffer: Buffer) => promisify(zstdDecompress)(buffer, { maxOutputLength: MAX_BATCH_BYTES }),
  })
  return loaded
}

export const kafkajs = load()

/** A module of it, by its path in the package. */
export const kafkajsModule = modules.load
