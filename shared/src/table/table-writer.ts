import { appendsOf } from '../event-log/append.ts'
import type { Range } from '../event-log/replay.ts'
import type { LogRecord, NewRecord } from '../plant/plant-created.ts'
import { plantStored, type Row } from '../plant/plant-stored.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { type LogSpan, readableClaims, rowsOf, unwritten, writtenUpTo } from '../protocol/plants-table.ts'
import { EntryError } from '../read-model/entry.ts'
import type { PartitionLookUp } from '../read-model/look-up.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { messageOf, PreconditionError } from '../runtime/failures.ts'
import { formatPartitions } from '../runtime/format.ts'
import type { Log } from '../runtime/log.ts'
import { createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'

/** The table, and the log that it is written from. */
export type TableStores = {
  readModel: Pick<ReadModel, 'lookUp'>
  /** Reads some of the newest rows of these partitions; of each partition that has rows, at least one. */
  newestRows(partitions: readonly Partition[], signal: AbortSignal): Promise<Map<Partition, Row[]>>
  /** Resolves when the table has the records. After a rejection it may have any of them. */
  append(records: readonly NewRecord[]): Promise<unknown>
  /** Reads ranges of the log, as replay.ts does. */
  readLog(
    ranges: ReadonlyMap<Partition, Range>,
    onRecords: (partition: Partition, records: readonly LogRecord[], reached: Checkpoint) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>
}

export type TableWriterOptions = TableStores & {
  log: Log
  time: Time
  limits?: typeof TABLE_LIMITS
  onHalt(error: Error): void
}

type PartitionSpan = LogSpan & { partition: Partition }
type PartitionClaims = { partition: Partition; claims: Row[] }

type PartitionState = {
  partition: Partition
  /** Undefined until it is read from the table. */
  written: Checkpoint | undefined
  /** The checkpoint of the read model, up to which the table is to be written. */
  target: Checkpoint
  /** Applied records, in log order. Those that are left out here are read from the log. */
  queue: LogSpan[]
  queuedRecords: number
}

export const TABLE_LIMITS = {
  /** For each partition: some MiB at most times. */
  maxQueuedRecords: 5_000,
  /** The claims of one look-up, which occupies Redis for about 1 ms. */
  maxLookedUpClaims: 500,
}
/** What to do about a table that was written from another log. */
export const ANOTHER_LOG_REMEDY =
  'Stop the projectors, delete the topic of the table and create it again, or set PLANTS_TABLE to another one'
/** Least time between the starts of two cycles: fewer and fuller batches cost less CPU. */
const MIN_CYCLE_MS = 20
const RETRY = { firstMs: 100, longestMs: 5_000 }

export type TableWriter = ReturnType<typeof createTableWriter>

/**
 * Writes the row of each plant into the table, in the background and after the read model has its claim. It keeps no
 * state of its own: it continues after the newest rows of the table. It writes the records that the projector hands
 * over; those before them that are not in the table yet it reads from the log. A row is written when all rows before it
 * are in the table. So a crash, a repeated append and several writers of a partition do no harm: some rows repeat.
 */
export function createTableWriter(options: TableWriterOptions) {
  const { readModel, newestRows, append, readLog, log, time, limits = TABLE_LIMITS, onHalt } = options
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
        await delay(time, Math.max(0, nextAt - time.now()), signal)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof PreconditionError) return onHalt(error)
        const retryInMs = backOff.nextMs()
        problem = `the table is not written: ${messageOf(error)}`
        log.warn({ err: error, retryInMs }, 'the table is not written; retrying')
        await delay(time, retryInMs, signal)
      }
    }
  }

  /** Writes what is queued, then what is missing before it. Returns whether there was neither. */
  async function cycle(): Promise<boolean> {
    await readWritten()
    const unknown = new Set<Partition>()
    const queued = [...states.values()].flatMap(takeQueued)
    await write(queued, unknown)
    const missing = new Map([...states.values()].flatMap(missingRange))
    if (missing.size > 0) {
      const writeRead = async (partition: Partition, records: readonly LogRecord[], next: Checkpoint) => {
        const from = states.get(partition)?.written
        if (from !== undefined) await write([{ partition, from, records, next }], unknown)
      }
      await readLog(missing, writeRead, signal)
    }
    if (unknown.size > 0)
      throw new Error(`the read model does not have all claims of ${formatPartitions([...unknown])} yet`)
    return queued.length === 0 && missing.size === 0
  }

  async function readWritten(): Promise<void> {
    const unread = [...states.values()].filter(({ written }) => written === undefined)
    if (unread.length === 0) return
    const newest = await newestRows(
      unread.map(({ partition }) => partition),
      signal,
    )
    const latest = new Map(unread.map(({ partition }) => [partition, writtenUpTo(newest.get(partition) ?? [])]))
    await verify(latest)
    for (const state of unread) state.written = latest.get(state.partition)
  }

  /** Throws a PreconditionError unless the log holds the creations of these latest rows. */
  async function verify(latest: ReadonlyMap<Partition, Checkpoint>): Promise<void> {
    const found = new Map<Partition, LogRecord>()
    const ranges = [...latest].flatMap(([partition, { offset, eventId }]): [Partition, Range][] =>
      eventId === ''
        ? []
        : [[partition, { from: { offset: (offset - 1) as Offset, eventId: '' }, end: after(offset) }]],
    )
    if (ranges.length > 0) {
      const read = async (partition: Partition, records: readonly LogRecord[]) => {
        for (const record of records) found.set(partition, record)
      }
      await readLog(new Map(ranges), read, signal)
    }
    for (const [partition] of ranges) {
      const row = latest.get(partition) as Checkpoint
      const { offset, claim } = found.get(partition) ?? {}
      if (offset !== row.offset || claim?.eventId !== row.eventId) {
        throw new PreconditionError(
          `the table was written from another log: offset ${row.offset} of partition ${partition} does not hold event ` +
            `${row.eventId}. ${ANOTHER_LOG_REMEDY}`,
          'another-log',
        )
      }
    }
  }

  /** Takes the queued records that follow what is written. */
  function takeQueued(state: PartitionState): PartitionSpan[] {
    const { partition, queue, written } = state
    const taken: PartitionSpan[] = []
    for (let reached = written; reached !== undefined; ) {
      const span = queue[0] && unwritten(reached, queue[0])
      if (span === undefined) break
      state.queuedRecords -= queue.shift()?.records.length ?? 0
      if (span.next.offset <= reached.offset) continue
      taken.push({ partition, ...span })
      reached = span.next
    }
    return taken
  }

  /** The records between what is written and what is queued. */
  function missingRange({ partition, written, target, queue }: PartitionState): [Partition, Range][] {
    const until = queue[0]?.from.offset ?? target.offset
    if (written === undefined || until <= written.offset) return []
    return [[partition, { from: written, end: after(until) }]]
  }

  /**
   * Writes the rows of these spans; those of the same partition follow one another. Leaves out the `unknown` partitions,
   * and adds those whose rows the read model does not know.
   */
  async function write(spans: readonly PartitionSpan[], unknown: Set<Partition>): Promise<void> {
    const claims = spans.flatMap((span) => readableClaims(span).map((row) => ({ partition: span.partition, row })))
    for (let start = 0; start < claims.length; start += limits.maxLookedUpClaims) {
      const some = claims.slice(start, start + limits.maxLookedUpClaims)
      const byPartition = Map.groupBy(some, ({ partition }) => partition)
      const groups = [...byPartition].map(([partition, rows]) => ({ partition, claims: rows.map(({ row }) => row) }))
      await appendRows(await lookUpRows(groups, unknown))
    }
    for (const { partition, from, next } of spans) {
      const state = states.get(partition)
      // Unless the partition was assigned anew in the meantime.
      if (!unknown.has(partition) && state?.written?.offset === from.offset) state.written = next
    }
  }

  async function lookUpRows(groups: readonly PartitionClaims[], unknown: Set<Partition>): Promise<NewRecord[]> {
    const lookUps = await readModel.lookUp(
      groups.map(({ partition, claims }) => ({ partition, ids: claims.map(({ id }) => id) })),
    )
    return groups.flatMap(({ partition, claims }, index) => {
      const { checkpoint, entries } = lookUps[index] as PartitionLookUp
      const known = entries.map((entry) => (entry instanceof EntryError ? undefined : entry))
      const rows = rowsOf(claims, { checkpoint, entries: known })
      if (rows === undefined) unknown.add(partition)
      return unknown.has(partition) ? [] : (rows ?? []).map((row) => plantStored(row, partition))
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
      for (const [partition, target] of checkpoints) {
        const unread = { partition, written: undefined, target, queue: [], queuedRecords: 0 }
        followed.set(partition, Object.assign(states.get(partition) ?? unread, { target }))
      }
      states = followed
      wake.resolve()
    },

    /** Hands over records that the read model has applied. */
    applied(partition: Partition, span: LogSpan): void {
      const state = states.get(partition)
      if (state === undefined) return
      state.target = span.next
      state.queue.push(span)
      state.queuedRecords += span.records.length
      if (state.queuedRecords > limits.maxQueuedRecords) {
        state.queue = []
        state.queuedRecords = 0
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

    problems: (): string[] => (problem === undefined ? [] : [problem]),

    /** Resolves when nothing is in flight. What is not written then, the next writer of the partition writes. */
    async close(): Promise<void> {
      closing.abort()
      wake.resolve()
      await running
    },
  }
}
