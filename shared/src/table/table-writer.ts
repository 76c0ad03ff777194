import { appendsOf } from '../event-log/append.ts'
import { reasonOf } from '../event-log/broker-errors.ts'
import type { Range } from '../event-log/replay.ts'
import { UndecodableError } from '../event-log/undecodable.ts'
import { textLengthOf } from '../plant/plant.ts'
import type { LogRecord, NewRecord } from '../plant/plant-created.ts'
import { plantStored, type Row, rowHeaders } from '../plant/plant-stored.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { claimsOf, type LogSpan, unwritten, writtenUpTo } from '../protocol/plants-table.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { formatPartitions } from '../runtime/format.ts'
import type { Log } from '../runtime/log.ts'
import { createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'
import { lookUpRows, type PartitionClaims, type PartitionRows, rowsOfLog, type TableStores } from './table.ts'

export type TableWriterOptions = TableStores & {
  log: Log
  time: Time
  limits?: typeof TABLE_LIMITS
  /** Called when a retry cannot help, as with the table of another log; it is retried anyway. */
  onHalt?: (error: Error) => void
}

type PartitionSpan = Pick<LogSpan, 'records' | 'next'> & { partition: Partition }

type RowRecord = NewRecord & { row: Row }

type Channel = Parameters<TableStores['appendEach']>[1]

type PartitionState = ReturnType<typeof unread>

/** The partitions that an attempt may still write: those that have to wait are deleted. */
type Left = Map<Partition, PartitionState>

export const TABLE_LIMITS = {
  /** For all partitions together. */
  maxQueuedBytes: 32 * 1_048_576,
  /** The claims that are looked up at once, which occupies Redis for about 1 ms. */
  maxLookedUpClaims: 500,
}
/** About what a record takes in memory, without its texts. */
const RECORD_BYTES = 200
const BYTES_PER_CODE_UNIT = 2
/** Least time between the starts of two cycles: fewer and fuller batches cost less CPU. */
const MIN_CYCLE_MS = 20
const NO_LEADER = 'its partition of the log or of the table has no leader: restore the brokers that are away'
const RETRY = { firstMs: 100, longestMs: 5_000 }
const MAX_RETRIES = 3

export type TableWriter = ReturnType<typeof createTableWriter>

/**
 * Writes the row of each plant into the table, in the background and after the read model has its claim. It keeps no
 * state: it continues after the latest row of the table. It writes the records that the projector hands over; those
 * before them that are not in the table yet it reads from the log. A row is written when all rows before it are in the
 * table. So a crash, a repeated append and several writers of a partition do no harm: some rows repeat. A partition
 * whose rows are not known, or refused, delays no other.
 */
export function createTableWriter(options: TableWriterOptions) {
  const { readModel, latestRows, appendEach, leaderOf, readLog, log, time, limits = TABLE_LIMITS, onHalt } = options
  const sharedHeaders = rowHeaders(options.source)
  const closing = new AbortController()
  const { signal } = closing
  const attempts = new Set<Promise<void>>()
  /** The leaders of the partitions that are written from their queues now. */
  const writtenTo = new Set<number | undefined>()
  let retries = 0
  let states = new Map<Partition, PartitionState>()
  let wake = Promise.withResolvers<void>()

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const nextAt = time.now() + MIN_CYCLE_MS
      wake = Promise.withResolvers()
      const hasStarted = startWrites()
      startCatchUp()
      if (!hasStarted) await wake.promise
      await delay(time, nextAt - time.now(), signal)
    }
    await Promise.all(attempts)
  }

  /**
   * Writes what is queued, for each leader apart: one that does not respond delays the rows of its partitions alone.
   * Returns whether anything was to write.
   */
  function startWrites(): boolean {
    const free = [...states.values()].filter(({ isBusy }) => !isBusy)
    let hasStarted = false
    for (const [leader, some] of Map.groupBy(free, ({ partition }) => leaderOf(partition))) {
      if (writtenTo.has(leader)) continue
      const queued = some.flatMap(takeQueued)
      if (queued.length === 0) continue
      hasStarted = true
      writtenTo.add(leader)
      const taken = new Set(queued.map(({ partition }) => partition))
      const work = async (left: Left) => {
        await write(queued, left, 'healthy')
        for (const partition of left.keys()) release(partition, left)
      }
      start(
        some.filter(({ partition }) => taken.has(partition)),
        work,
        () => writtenTo.delete(leader),
      )
    }
    return hasStarted
  }

  /**
   * Writes partitions that lack records before their queues, apart from the others, so that the reading of the log delays
   * none. Of partitions that have waited, only some attempts run at a time: each reads with a separate consumer.
   */
  function startCatchUp(): void {
    const mayRetry = retries < MAX_RETRIES
    const behind = [...states.values()].filter(
      (state) => !state.isBusy && isBehind(state) && (mayRetry || state.waitsFor === undefined),
    )
    if (behind.length === 0) return
    const retried = behind.some(({ waitsFor }) => waitsFor !== undefined) ? 1 : 0
    retries += retried
    start(behind, catchUp, () => {
      retries -= retried
    })
  }

  function start(some: readonly PartitionState[], work: (left: Left) => Promise<void>, onEnd: () => void): void {
    for (const state of some) state.isBusy = true
    const attempting = attempt(some, work).finally(() => {
      attempts.delete(attempting)
      onEnd()
      wake.resolve()
    })
    attempts.add(attempting)
  }

  /**
   * Never rejects: after a failure, the partitions that are left wait, and their next attempts start together. After that
   * of a batch that cannot be decoded, its partition alone waits.
   */
  async function attempt(some: readonly PartitionState[], work: (left: Left) => Promise<void>): Promise<void> {
    const left: Left = new Map(some.map((state) => [state.partition, state]))
    try {
      await work(left)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof PreconditionError && onHalt !== undefined) {
        closing.abort()
        wake.resolve()
        return onHalt(error)
      }
      const concerned = error instanceof UndecodableError ? [error.partition] : [...left.keys()]
      wait(concerned, left, reasonOf(error), error)
      // The next cycle attempts the others without it.
      for (const partition of left.keys()) release(partition, left)
    }
  }

  /** Writes what is missing before the queues. Each partition that has it returns to the cycles at once. */
  async function catchUp(left: Left): Promise<void> {
    await readWritten(left)
    const missing = new Map([...left.values()].flatMap(missingRange))
    const ending = new AbortController()
    for (const partition of left.keys()) if (!missing.has(partition)) release(partition, left)
    if (missing.size === 0) return
    const writeRead = async (partition: Partition, records: readonly LogRecord[], next: Checkpoint) => {
      // If it was assigned anew in the meantime, another attempt reads it.
      if (left.get(partition) !== states.get(partition)) left.delete(partition)
      // A partition whose replicas do not acknowledge holds up its channel until the append times out.
      if (left.has(partition)) await write([{ partition, records, next }], left, 'suspect')
      if (after(next.offset) >= (missing.get(partition) as Range).end) release(partition, left)
      if (left.size === 0) ending.abort()
    }
    await readLog(missing, writeRead, AbortSignal.any([signal, ending.signal]))
    wait([...left.keys()], left, NO_LEADER)
  }

  function release(partition: Partition, left: Left): void {
    const state = left.get(partition)
    if (state === undefined) return
    left.delete(partition)
    state.isBusy = false
    wake.resolve()
  }

  async function readWritten(left: Left): Promise<void> {
    const unread = [...left.values()].filter(({ written }) => written === undefined)
    if (unread.length === 0) return
    const wanted = unread.map(({ partition }) => partition)
    const latest = await latestRows(wanted, signal)
    const rows = await rowsOfLog(latest, (ranges, onRecords) => readLog(ranges, onRecords, signal))
    wait(
      wanted.filter((partition) => !rows.has(partition)),
      left,
      NO_LEADER,
    )
    for (const state of unread) {
      if (!rows.has(state.partition)) continue
      state.written = writtenUpTo(rows.get(state.partition))
      state.waitsFor = undefined
    }
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

  function isBehind(state: PartitionState): boolean {
    return state.written === undefined || missingRange(state).length > 0
  }

  /** The records between what is written and what is queued; after a wait, no more than are looked up at once. */
  function missingRange({ partition, written, target, queue, waitsFor }: PartitionState): [Partition, Range][] {
    const until = queue[0]?.from.offset ?? target.offset
    if (written === undefined || until <= written.offset) return []
    const end = waitsFor === undefined ? until : Math.min(until, written.offset + limits.maxLookedUpClaims)
    return [[partition, { from: written, end: after(end as Offset) }]]
  }

  /**
   * Writes the rows of these spans; the spans of a partition are contiguous. A partition is left out from its first
   * unknown row on, because a later row must not be written before it.
   */
  async function write(spans: readonly PartitionSpan[], left: Left, channel: Channel): Promise<void> {
    const claims = spans.flatMap((span) => claimsOf(span).map((claim) => ({ partition: span.partition, claim })))
    for (let start = 0; start < claims.length; start += limits.maxLookedUpClaims) {
      const some = claims.slice(start, start + limits.maxLookedUpClaims)
      const asked = [...Map.groupBy(some, ({ partition }) => partition)]
        .filter(([partition]) => left.has(partition))
        .map(([partition, found]) => ({ partition, claims: found.map(({ claim }) => claim) }))
      const lookUps = lookUpRows(readModel, asked).map((lookUp, n) =>
        recordsOf((asked[n] as PartitionClaims).partition, lookUp, left),
      )
      await appendRows((await Promise.all(lookUps)).flat(), left, channel)
    }
    for (const { partition, next } of spans) {
      const state = left.get(partition)
      if (state === undefined) continue
      state.written = next
      state.waitsFor = undefined
      state.backOff.reset()
    }
  }

  const waitingStates = () => [...states.values()].filter(({ waitsFor }) => waitsFor !== undefined)

  /** None if the read model does not know the rows: then the partition waits. */
  async function recordsOf(partition: Partition, lookUp: Promise<PartitionRows>, left: Left): Promise<RowRecord[]> {
    try {
      const found = await lookUp
      if (found.rows !== undefined)
        return found.rows.map((row) => ({ ...plantStored(row, partition, sharedHeaders), row }))
      wait([partition], left, found.why)
    } catch (error) {
      wait([partition], left, reasonOf(error), error)
    }
    return []
  }

  /** Has partitions wait for their next attempt. */
  function wait(partitions: readonly Partition[], left: Left, why: string, error?: unknown): void {
    const waiting = partitions.flatMap((partition) => left.get(partition) ?? [])
    if (waiting.length === 0) return
    if (waiting.some(({ waitsFor }) => waitsFor !== why))
      log.warn({ err: error, partitions, why }, 'the table is not written in these partitions; retrying')
    for (const state of waiting) {
      left.delete(state.partition)
      state.waitsFor = why
      state.isBusy = true
      // The log has them. They leave room for the queues of others.
      state.queue = []
      state.queuedBytes = 0
    }
    void delay(time, Math.max(...waiting.map(({ backOff }) => backOff.nextMs())), signal).then(() => {
      for (const state of waiting) state.isBusy = false
      wake.resolve()
    })
  }

  /** Appends records. A partition that fails waits, without its later records. */
  async function appendRows(records: readonly RowRecord[], left: Left, channel: Channel): Promise<void> {
    for (const some of appendsOf(records)) {
      signal.throwIfAborted()
      const sent = some.filter(({ partition }) => left.has(partition))
      if (sent.length === 0) continue
      const failures = await appendEach(sent, channel)
      for (const [why, failed] of Map.groupBy(failures, ([, error]) => reasonOf(error)))
        wait(
          failed.map(([partition]) => partition),
          left,
          why,
          failed[0]?.[1],
        )
      for (const { partition, row } of sent) {
        const state = left.get(partition)
        if (state !== undefined) state.written = writtenUpTo(row)
      }
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
      if (queued <= limits.maxQueuedBytes && state.waitsFor === undefined) {
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

    /** The number of partitions that are not written since a failure. */
    waiting: () => waitingStates().length,

    problems(): string[] {
      const waiting = waitingStates()
      const [first] = waiting
      if (first === undefined) return []
      const partitions = formatPartitions(waiting.map(({ partition }) => partition))
      return [`the table is not written${waiting.length < states.size ? ` in ${partitions}` : ''}: ${first.waitsFor}`]
    },

    /** Resolves when nothing is in flight. The next writer of the partition writes the rest. */
    async close(): Promise<void> {
      closing.abort()
      wake.resolve()
      await running
    },
  }
}

const unread = (partition: Partition, target: Checkpoint) => ({
  partition,
  /** Undefined until it is read from the table. */
  written: undefined as Checkpoint | undefined,
  /** The checkpoint of the read model, up to which the table must be written. */
  target,
  /** Applied records, in log order. Those that are left out here are read from the log. */
  queue: [] as LogSpan[],
  queuedBytes: 0,
  /** The reason why its rows are not written; undefined as soon as they are. */
  waitsFor: undefined as string | undefined,
  /** While an attempt is under way, and until the next one after a failure. */
  isBusy: false,
  backOff: createBackOff(RETRY),
})

function bytesOf({ records }: LogSpan): number {
  return records.reduce(
    (sum, { claim }) =>
      sum + RECORD_BYTES + BYTES_PER_CODE_UNIT * (claim?.plant === undefined ? 0 : textLengthOf(claim.plant)),
    0,
  )
}
