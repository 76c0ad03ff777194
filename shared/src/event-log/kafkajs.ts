import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { keepCommitted } from './keep-committed.ts'

// kafkajs 2.2.4 with what has to be corrected in it. The only place where the package is loaded, since a
// module of it can only be replaced before those that use it are there.

const require = createRequire(import.meta.url)

const REQUEST_QUEUE = 'kafkajs/src/network/requestQueue/index.js'
const BATCH = 'kafkajs/src/consumer/batch.js'
const FILTER_ABORTED = 'kafkajs/src/consumer/filterAbortedMessages.js'
const PENDING_CHECK_MS = 10
const MAX_BATCH_BYTES = 64 * 1_048_576

type RequestQueue = {
  pending: unknown[]
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
}

/**
 * kafkajs re-arms a timer of about 1 ms for ever on each connection: some 900 wake-ups a second and a
 * TimeoutNegativeWarning on current Node. This one is armed only while requests wait.
 */
function scheduleCheckPendingRequests(this: RequestQueue): void {
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

function load(): typeof import('kafkajs') {
  if (require.cache[require.resolve(BATCH)] !== undefined) {
    throw new Error(
      'kafkajs was loaded before it could be corrected: import event-log/kafkajs.ts instead of it',
    )
  }
  require(FILTER_ABORTED)
  const filter = require.cache[require.resolve(FILTER_ABORTED)] as NodeJS.Module
  filter.exports = keepCommitted
  Object.assign(require(REQUEST_QUEUE).prototype, { scheduleCheckPendingRequests })
  const loaded: typeof import('kafkajs') = require('kafkajs')
  // Without a codec one batch that anybody compressed this way stops every reader for ever.
  loaded.CompressionCodecs[loaded.CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => promisify(zstdCompress)(buffer),
    decompress: (buffer: Buffer) => promisify(zstdDecompress)(buffer, { maxOutputLength: MAX_BATCH_BYTES }),
  })
  return loaded
}

export const kafkajs = load()
