import { appendsOf } from '../event-log/append.ts'
import { reasonOf } from '../event-log/broker-errors.ts'
import type { Range } from '../event-log/replay.ts'
import { textLengthOf } from '../plant/plant.ts'
import type { LogRecord, NewRecord } from '../plant/plant-created.ts'
import { plantStored, rowHeaders } from '../plant/plant-stored.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { claimsOf, type LogSpan, unwritten, writtenUpTo } from '../protocol/plants-table.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { formatPartitions } from '../runtime/format.ts'
import type { Log } from '../runtime/log.ts'
import { type BackOff, createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'
import { assertRowsOfLog, lookUpRows, type PartitionClaims, type TableStores } from './table.ts'

export type TableWriterOptions = TableStores & {
  log: Log
  time: Time
  limits?: typeof TABLE_LIMITS
  /** Called when a retry cannot help, as with the table of another log; it is retried anyway. */
  onHalt?: (error: Error) => void
}

type PartitionSpan = LogSpan & { partition: Partition }

type PartitionState = {
  partition: Partition
  /** Undefined until it is read from the table. */
  written: Checkpoint | undefined
  /** The checkpoint of the read model, up to which the table must be written. */
  target: Checkpoint
  /** Applied records, in log order. Those that are left out here are read from the log. */
  queue: LogSpan[]
  queuedBytes: number
  /** The reason why its rows are not known; undefined as soon as they are. */
  waitsFor: string | undefined
  /** Until the next attempt. */
  isWaiting: boolean
  backOff: BackOff
}

export const TABLE_LIMITS = {
  /** For all partitions together. */
  maxQueuedBytes: 32 * 1_048_576,
  /** The claims of one look-up, which occupies Redis for about 1 ms. */
  maxLookedUpClaims: 500,
}
/** About what a record takes in memory, without its texts. */
const RECORD_BYTES = 200
const BYTES_PER_CODE_UNIT = 2
/** Least time between the starts of two cycles: fewer and fuller batches cost less CPU. */
const MIN_CYCLE_MS = 20
const RETRY = { firstMs: 100, longestMs: 5_000 }

export type TableWriter = ReturnType<typeof createTableWriter>

/**
 * Writes the row of each plant into the table, in the background and after the read model has its claim. It keeps no
 * state: it continues after the latest row of the table. It writes the records that the projector hands over; those
 * before them that are not in the table yet it reads from the log. A row is written when all rows before it are in the
 * table. So a crash, a repeated append and several writers of a partition do no harm: some rows repeat. A partition
 * whose rows the read model does not know waits, and delays no other.
 */
export function createTableWriter(options: TableWriterOptions) {
  const { readModel, latestRows, append, readLog, log, time, limits = TABLE_LIMITS, onHalt } = options
  const sharedHeaders = rowHeaders(options.source)
  const closing = new AbortController()
  const { signal } = closing
  const backOff = createBackOff(RETRY)
  let states = new Map<Partition, PartitionState>()
  let wake = Promise.withResolvers<void>()
  let problem: string | undefined

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const nextAt = time.now() + MIN_CYCLE_MS
      wake = Promise.withResolvers()
      try {
        const isIdle = await cycle()
        problem = undefined
        backOff.reset()
        if (isIdle) await wake.promise
        await delay(time, nextAt - time.now(), signal)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof PreconditionError && onHalt !== undefined) return onHalt(error)
        const retryInMs = backOff.nextMs()
        problem = reasonOf(error)
        log.warn({ err: error, retryInMs }, 'the table is not written; retrying')
        await delay(time, retryInMs, signal)
      }
    }
  }

  /**
   * Writes what is queued, then what is missing before it. Returns whether there was neither. A partition is left out
   * from its first unknown row on, because a later row must not be written before it.
   */
  async function cycle(): Promise<boolean> {
    await readWritten()
    const unknown = new Set<Partition>()
    const due = [...states.values()].filter(({ isWaiting }) => !isWaiting)
    const queued = due.flatMap(takeQueued)
    await write(queued, unknown)
    const missing = new Map(due.filter(({ partition }) => !unknown.has(partition)).flatMap(missingRange))
    if (missing.size > 0) {
      const writeRead = async (partition: Partition, records: readonly LogRecord[], next: Checkpoint) => {
        const from = states.get(partition)?.written
        if (from !== undefined && !unknown.has(partition)) await write([{ partition, from, records, next }], unknown)
      }
      await readLog(missing, writeRead, signal)
    }
    return queued.length === 0 && missing.size === 0
  }

  async function readWritten(): Promise<void> {
    const unread = [...states.values()].filter(({ written }) => written === undefined)
    if (unread.length === 0) return
    const wanted = unread.map(({ partition }) => partition)
    const rows = await latestRows(wanted, signal)
    await assertRowsOfLog(rows, (ranges, onRecords) => readLog(ranges, onRecords, signal))
    for (const state of unread) state.written = writtenUpTo(rows.get(state.partition))
  }

  /** Takes the queued records that follow what is written. */
  function takeQueued(state: PartitionState): PartitionSpan[] {
    const { partition, queue, written } = state
    const taken: PartitionSpan[] = []
    for (let reached = written; reached !== undefined; ) {
      const span = queue[0] && unwritten(reached, queue[0])
      if (span === undefined) break
      state.queuedBytes -= bytesOf(queue.shift() as LogSpan)
      if (span.next.offset <= reached.offset) continue
      taken.push({ partition, ...span })
      reached = span.next
    }
    return taken
  }

  /** The records between what is written and what is queued; after a wait, no more than are looked up at once. */
  function missingRange({ partition, written, target, queue, waitsFor }: PartitionState): [Partition, Range][] {
    const until = queue[0]?.from.offset ?? target.offset
    if (written === undefined || until <= written.offset) return []
    const end = waitsFor === undefined ? until : Math.min(until, written.offset + limits.maxLookedUpClaims)
    return [[partition, { from: written, end: after(end as Offset) }]]
  }

  /** Writes the rows of these spans; the spans of a partition are contiguous. Adds to the `unknown` partitions. */
  async function write(spans: readonly PartitionSpan[], unknown: Set<Partition>): Promise<void> {
    const claims = spans.flatMap((span) => claimsOf(span).map((claim) => ({ partition: span.partition, claim })))
    for (let start = 0; start < claims.length; start += limits.maxLookedUpClaims) {
      const some = claims.slice(start, start + limits.maxLookedUpClaims)
      const byPartition = Map.groupBy(some, ({ partition }) => partition)
      const asked = [...byPartition].map(([partition, found]) => ({
        partition,
        claims: found.map(({ claim }) => claim),
      }))
      await appendRows(await findRows(asked, unknown))
    }
    for (const { partition, from, next } of spans) {
      const state = states.get(partition)
      // Unless the partition was assigned anew in the meantime.
      if (unknown.has(partition) || state?.written?.offset !== from.offset) continue
      state.written = next
      state.waitsFor = undefined
      state.backOff.reset()
    }
  }

  async function findRows(asked: readonly PartitionClaims[], unknown: Set<Partition>): Promise<NewRecord[]> {
    const known = asked.filter(({ partition }) => !unknown.has(partition))
    const found = await lookUpRows(readModel, known)
    return found.flatMap((one) => {
      if (one.rows !== undefined) return one.rows.map((row) => plantStored(row, one.partition, sharedHeaders))
      unknown.add(one.partition)
      wait(one.partition, one.why)
      return []
    })
  }

  function wait(partition: Partition, why: string): void {
    const state = states.get(partition)
    if (state === undefined) return
    if (state.waitsFor !== why) log.warn({ partition, why }, 'the table waits for the read model')
    state.waitsFor = why
    state.isWaiting = true
    void delay(time, state.backOff.nextMs(), signal).then(() => {
      state.isWaiting = false
      wake.resolve()
    })
  }

  async function appendRows(records: readonly NewRecord[]): Promise<void> {
    for (const some of appendsOf(records)) {
      signal.throwIfAborted()
      await append(some)
    }
  }

  const running = run()

  return {
    /** Sets the partitions to write, each up to the checkpoint that the read model has reached. */
    follow(checkpoints: ReadonlyMap<Partition, Checkpoint>): void {
      const followed = new Map<Partition, PartitionState>()
      for (const [partition, target] of checkpoints)
        followed.set(partition, Object.assign(states.get(partition) ?? unread(partition, target), { target }))
      states = followed
      wake.resolve()
    },

    /** Hands over records that the read model has applied. */
    applied(partition: Partition, span: LogSpan): void {
      const state = states.get(partition)
      if (state === undefined) return
      state.target = span.next
      const bytes = bytesOf(span)
      let queued = bytes
      for (const { queuedBytes } of states.values()) queued += queuedBytes
      if (queued <= limits.maxQueuedBytes) {
        state.queue.push(span)
        state.queuedBytes += bytes
      }
      wake.resolve()
    },

    /** How many offsets the table is behind the read model; undefined while it is not known what the table has. */
    lag(): number | undefined {
      let lag = 0
      for (const { written, target } of states.values()) {
        if (written === undefined) return undefined
        lag += Math.max(0, target.offset - written.offset)
      }
      return lag
    },

    problems(): string[] {
      if (problem !== undefined) return [`the table is not written: ${problem}`]
      const waiting = [...states.values()].filter(({ waitsFor }) => waitsFor !== undefined)
      const [first] = waiting
      if (first === undefined) return []
      const partitions = formatPartitions(waiting.map(({ partition }) => partition))
      return [`the table is not written in ${partitions}: ${first.waitsFor}`]
    },

    /** Resolves when nothing is in flight. The next writer of the partition writes the rest. */
    async close(): Promise<void> {
      closing.abort()
      wake.resolve()
      await running
    },
  }
}

const unread = (partition: Partition, target: Checkpoint): PartitionState => ({
  partition,
  written: undefined,
  target,
  queue: [],
  queuedBytes: 0,
  waitsFor: undefined,
  isWaiting: false,
  backOff: createBackOff(RETRY),
})

function bytesOf({ records }: LogSpan): number {
  return records.reduce(
    (sum, { claim }) =>
      sum + RECORD_BYTES + BYTES_PER_CODE_UNIT * (claim?.plant === undefined ? 0 : textLengthOf(claim.plant)),
    0,
  )
}
