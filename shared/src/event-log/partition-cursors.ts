import type { LogRecord } from '../plant/plant-created.ts'
import type { LogPosition, Offset, Partition } from '../plant/position.ts'
import {
  type Checkpoint,
  type Delivery,
  decideDelivery,
  outOfBounds,
  seekOffset,
  type UndecodableBatch,
} from '../protocol/checkpoint.ts'
import { messageOf, PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { type BackOff, createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'
import { reasonOf } from './broker-errors.ts'
import { anotherLog, partitionsChanged, SERVICE_REMEDY } from './log-identity.ts'
import { undecodableText } from './undecodable.ts'

/** Receives the records of a log, and knows the checkpoint to continue from. */
export type RecordSink<R extends LogRecord = LogRecord> = {
  /** Called at each assignment of a partition and at each `reloadCheckpoints`. */
  checkpointOf(partition: Partition): Promise<Checkpoint>
  /**
   * Applies the records between two checkpoints and returns the checkpoint then reached: `next`, or another one to seek
   * to. Called once at a time for each partition. When it rejects, it is called again.
   */
  onRecords(partition: Partition, records: R[], next: Checkpoint, from: Checkpoint): Promise<Checkpoint>
  /**
   * Called after each delivery of new records; the next fetch of all partitions with the same leader waits for it.
   * Resolves with the checkpoint to continue from, which is beyond the delivery when the sink has received later
   * records in another way. It must not reject.
   */
  rest?(partition: Partition): Promise<Checkpoint>
  /** Called at each attempt to read a batch that cannot be decoded, in place of a warning in the log. */
  onUndecodable?(position: LogPosition): void
  /** Called once, when the log can no longer be followed. */
  onHalt(error: Error): void
}

export type RecordSource = {
  /** Stops the deliveries of a partition until the next `seek`. */
  pause(partition: Partition): void
  /** Makes the next delivery of a partition start at this offset. */
  seek(partition: Partition, offset: Offset): void
  /** From the leaders; undefined without one. Throws a PreconditionError for a topic not as required. */
  ends(): Promise<readonly (Offset | undefined)[]>
}

type PartitionCursor = ReturnType<typeof createCursor>

const createCursor = (backOff: BackOff) => ({
  /** Undefined while it is being loaded. */
  checkpoint: undefined as Checkpoint | undefined,
  /** True if the log was seen to hold the event that the checkpoint names. */
  verified: false,
  leaderEpoch: undefined as number | undefined,
  /** Counts the checkpoints that came from the sink: a delivery requested in an earlier epoch is dropped. */
  epoch: 0,
  /** The deliveries of the partition, one after the other. */
  queue: Promise.resolve(),
  /** The reason why the partition does not advance. */
  problem: undefined as string | undefined,
  /** The first offset of the batch that it cannot pass. */
  undecodable: undefined as Offset | undefined,
  backOff,
})

const RETRY = { firstMs: 250, longestMs: 5_000 }
/** The wait after records that cannot be used yet, which would be fetched again at once. */
const FETCH_AGAIN_AFTER_MS = 250

export type PartitionCursorsOptions = {
  partitions: number
  time: Time
  log: Log
  /** The delays after the sink failed. */
  retry?: { firstMs: number; longestMs: number } | undefined
  /** The remedy for another log; for operators of the services unless given. */
  remedy?: string | undefined
}

/**
 * The cursors of a reader in the partitions that it is assigned. At an assignment each partition is sought to the
 * sink's checkpoint. `decideDelivery` compares each delivery with the checkpoint, so that no record is skipped, applied
 * twice, or applied from another log.
 */
export function createPartitionCursors<R extends LogRecord>(
  { checkpointOf, onRecords, rest, onUndecodable, onHalt }: RecordSink<R>,
  source: RecordSource,
  { partitions, time, log, retry = RETRY, remedy = SERVICE_REMEDY }: PartitionCursorsOptions,
) {
  const closing = new AbortController()
  let cursors: Map<Partition, PartitionCursor> | undefined
  /** The ends of the last calls of the sink. During one, the group may be joined again, which makes a new cursor. */
  const called = new Map<Partition, Promise<unknown>>()
  const allVerified = Promise.withResolvers<void>()
  const isCurrent = (partition: Partition, cursor: PartitionCursor) => cursors?.get(partition) === cursor

  function fail(error: Error): void {
    if (closing.signal.aborted) return
    closing.abort()
    onHalt(error)
  }

  const halt = (reason: string, partition: Partition) => fail(anotherLog(reason, partition, remedy))

  /**
   * Loads the checkpoints of these partitions and seeks there. Those that fail are retried apart, so that they delay no
   * other. The ends of the log are read after the checkpoints: a checkpoint that advanced in between would otherwise
   * seem to lie beyond the end.
   */
  async function loadCheckpoints(
    loading: ReadonlyMap<Partition, PartitionCursor>,
    backOff = createBackOff(RETRY),
  ): Promise<void> {
    if (closing.signal.aborted || ![...loading].every(([partition, cursor]) => isCurrent(partition, cursor))) return
    const loads = await Promise.allSettled([...loading.keys()].map((partition) => checkpointOf(partition)))
    const isAnyLoaded = loads.some(({ status }) => status === 'fulfilled')
    const ends = isAnyLoaded ? await source.ends().catch((error: Error) => error) : []
    const failed = new Map<Partition, PartitionCursor>()
    let failure: unknown
    for (const [index, [partition, cursor]] of [...loading].entries()) {
      const load = loads[index] as PromiseSettledResult<Checkpoint>
      if (load.status === 'rejected' || ends instanceof Error) {
        failure = load.status === 'rejected' ? load.reason : ends
        if (failure instanceof PreconditionError) return fail(failure)
        cursor.problem = `checkpoint not loaded: ${reasonOf(failure)}`
        failed.set(partition, cursor)
        continue
      }
      const end = ends[partition]
      // Without a leader nothing is delivered, and one whose log ends earlier responds that the offset is out of range.
      const reason = end === undefined ? undefined : outOfBounds(load.value, end)
      if (reason !== undefined) return halt(reason, partition)
      moveTo(partition, cursor, cursor.checkpoint, load.value)
    }
    resolveIfAllVerified()
    if (failed.size === 0) return
    const retryInMs = backOff.nextMs()
    const details = { err: failure, partitions: [...failed.keys()], retryInMs }
    log.warn(details, 'checkpoints cannot be loaded; retrying')
    const retried = delay(time, retryInMs, closing.signal)
      .then(() => loadCheckpoints(failed, backOff))
      .catch(fail)
    for (const cursor of failed.values()) cursor.queue = retried
  }

  /** Continues from a checkpoint of the sink that this reader did not reach itself: the log must verify it. */
  function moveTo(
    partition: Partition,
    cursor: PartitionCursor,
    from: Checkpoint | undefined,
    checkpoint: Checkpoint,
  ): void {
    // The cursor has moved, or its checkpoint is being reloaded.
    if (cursor.checkpoint !== from) return
    cursor.checkpoint = checkpoint
    cursor.problem = undefined
    cursor.undecodable = undefined
    cursor.verified = checkpoint.eventId === ''
    cursor.epoch++
    source.seek(partition, seekOffset(checkpoint))
  }

  /** Continues from a checkpoint beyond the cursor's. */
  function skipTo(partition: Partition, cursor: PartitionCursor, next: Checkpoint): void {
    const { checkpoint } = cursor
    if (checkpoint === undefined || !isCurrent(partition, cursor) || closing.signal.aborted) return
    if (next.offset > checkpoint.offset) moveTo(partition, cursor, checkpoint, next)
  }

  function resolveIfAllVerified(): void {
    if (cursors !== undefined && [...cursors.values()].every(({ verified }) => verified)) allVerified.resolve()
  }

  async function handle(partition: Partition, cursor: PartitionCursor, delivery: Delivery<R>): Promise<void> {
    const { checkpoint } = cursor
    if (checkpoint === undefined || !isCurrent(partition, cursor) || closing.signal.aborted) return
    // Records after the checkpoint do not show which event the log holds there.
    if (!cursor.verified && delivery.requested > checkpoint.offset)
      return source.seek(partition, seekOffset(checkpoint))
    const decision = decideDelivery(checkpoint, delivery)
    if (decision.do === 'halt') return halt(decision.reason, partition)
    if (decision.do === 'seek') return source.seek(partition, seekOffset(checkpoint))
    if (decision.do === 'wait') return waitFor(partition, cursor, decision.batch)
    // The record at the checkpoint may come alone before the batch is fetched again.
    if (decision.checkpoint.offset >= (cursor.undecodable ?? Number.POSITIVE_INFINITY)) cursor.undecodable = undefined
    if (!cursor.verified && delivery.last >= checkpoint.offset) {
      cursor.verified = true
      resolveIfAllVerified()
    }
    await apply(partition, cursor, decision.records, checkpoint, decision.checkpoint)
  }

  /** Another leader may have the batch undamaged. */
  function waitFor(partition: Partition, cursor: PartitionCursor, { offset, codec, cause }: UndecodableBatch): void {
    cursor.undecodable = offset
    cursor.problem = undefined
    const retryInMs = cursor.backOff.nextMs()
    const details = { partition, offset, codec, cause: messageOf(cause), retryInMs }
    if (onUndecodable === undefined) log.warn(details, undecodableText({ partition, offset }))
    else onUndecodable({ partition, offset })
    source.pause(partition)
    void resumeAfter(retryInMs, partition, cursor)
  }

  async function apply(
    partition: Partition,
    cursor: PartitionCursor,
    records: R[],
    from: Checkpoint,
    next: Checkpoint,
  ): Promise<void> {
    try {
      const call = onRecords(partition, records, next, from)
      called.set(partition, Promise.allSettled([call]))
      const reached = await call
      cursor.problem = undefined
      if (next.offset > from.offset) cursor.backOff.reset()
      if (reached !== next) return moveTo(partition, cursor, from, reached)
      // Unless the checkpoint is being reloaded.
      if (cursor.checkpoint === from) cursor.checkpoint = next
    } catch (error) {
      if (error instanceof PreconditionError) return fail(error)
      // A new assignment seeks the partition itself; a pause now would never end.
      if (!isCurrent(partition, cursor)) return
      const retryInMs = cursor.backOff.nextMs()
      const details = { err: error, partition, offset: next.offset, retryInMs }
      log.warn(details, 'records are not applied; retrying')
      // Whatever it looks like, it is an error of the sink, not of Kafka.
      cursor.problem = `records are not applied: ${messageOf(error)}`
      source.pause(partition)
      // Not awaited in the queue: until it ends kafkajs neither fetches the other partitions of the broker nor sends
      // heartbeats.
      void resumeAfter(retryInMs, partition, cursor)
    }
  }

  /** Ends a pause, unless the checkpoint is being reloaded or the partition was assigned again. */
  async function resumeAfter(ms: number, partition: Partition, cursor: PartitionCursor): Promise<void> {
    await delay(time, ms, closing.signal)
    const { checkpoint } = cursor
    if (closing.signal.aborted || checkpoint === undefined || !isCurrent(partition, cursor)) return
    source.seek(partition, seekOffset(checkpoint))
  }

  return {
    /** Replaces the assigned partitions. Each starts from its checkpoint again. */
    assign(assigned: readonly Partition[]): void {
      const unknown = assigned.find((partition) => partition >= partitions)
      if (unknown !== undefined) {
        fail(partitionsChanged(`the topic had ${partitions} partitions and now has a partition ${unknown}`))
        return
      }
      const created = new Map(assigned.map((partition) => [partition, createCursor(createBackOff(retry))]))
      cursors = created
      for (const partition of assigned) source.pause(partition)
      const loaded = loadCheckpoints(created).catch(fail)
      for (const cursor of created.values()) cursor.queue = loaded
    },

    revoke(): void {
      cursors = undefined
    },

    /**
     * Handles a delivery after all earlier ones of its partition. `read` returns the delivery at that time, or
     * undefined when it is out of date. Resolves with the offset then reached.
     */
    async deliver(partition: Partition, read: () => Delivery<R> | undefined): Promise<Offset | undefined> {
      const cursor = cursors?.get(partition)
      if (cursor === undefined) return undefined
      if (cursor.checkpoint === undefined) {
        // Not sought yet. The records will be fetched again; heartbeats continue during the wait.
        await Promise.race([cursor.queue, delay(time, FETCH_AGAIN_AFTER_MS, closing.signal)])
        return undefined
      }
      const { epoch } = cursor
      let delivery: Delivery<R> | undefined
      cursor.queue = cursor.queue
        .then(async () => {
          await called.get(partition)
          // A delivery of an earlier epoch may end before the checkpoint of this one.
          delivery = cursor.epoch === epoch ? read() : undefined
          if (delivery !== undefined) await handle(partition, cursor, delivery)
        })
        .catch(fail)
      await cursor.queue
      // Only here: to move in the middle of a fetch would compare its end, from before, with the new checkpoint.
      const isAtItsEnd = delivery !== undefined && delivery.last === cursor.checkpoint?.offset
      if (rest !== undefined && isAtItsEnd && delivery?.records.length) skipTo(partition, cursor, await rest(partition))
      return delivery !== undefined && isCurrent(partition, cursor) ? cursor.checkpoint?.offset : undefined
    },

    /** Another leader may have lost records and got others: its log must verify the checkpoint. */
    ledBy(partition: Partition, leaderEpoch: number | undefined): void {
      const cursor = cursors?.get(partition)
      if (cursor === undefined || cursor.leaderEpoch === leaderEpoch) return
      cursor.leaderEpoch = leaderEpoch
      if (cursor.checkpoint !== undefined) moveTo(partition, cursor, cursor.checkpoint, cursor.checkpoint)
    },

    /** A broker does not have the next offset. Halts if the log does not have it; else continues at the checkpoint. */
    async outOfRange(partition: Partition): Promise<void> {
      const cursor = cursors?.get(partition)
      if (cursor?.checkpoint === undefined) return
      source.pause(partition)
      await delay(time, FETCH_AGAIN_AFTER_MS, closing.signal)
      await loadCheckpoints(new Map([[partition, cursor]])).catch(fail)
    },

    /** The assigned partitions and their checkpoints; undefined while none are assigned. */
    assigned(): Map<Partition, Checkpoint | undefined> | undefined {
      return cursors && new Map([...cursors].map(([partition, { checkpoint }]) => [partition, checkpoint]))
    },

    /** Resolves when the log was seen to hold the event of each partition's checkpoint, so it is the right log. */
    verified: allVerified.promise,

    /** Loads these checkpoints again and seeks there, in partitions that have not moved since `seen`. */
    reloadCheckpoints(seen: ReadonlyMap<Partition, Checkpoint>): void {
      const reloading = new Map(
        [...(cursors ?? [])].filter(
          ([partition, { checkpoint }]) => checkpoint !== undefined && checkpoint === seen.get(partition),
        ),
      )
      if (reloading.size === 0) return
      const loaded = Promise.all([...reloading.values()].map(({ queue }) => queue))
        .then(() => loadCheckpoints(reloading))
        .catch(fail)
      for (const [partition, cursor] of reloading) {
        Object.assign(cursor, { checkpoint: undefined, queue: loaded })
        source.pause(partition)
      }
    },

    /** The batches that cannot be decoded, at which partitions wait. */
    undecodable: (): LogPosition[] =>
      [...(cursors ?? [])].flatMap(([partition, { undecodable: offset }]) =>
        offset === undefined ? [] : [{ partition, offset }],
      ),

    /** The other reasons why partitions do not advance; empty when all do. */
    problems(): string[] {
      if (cursors === undefined) return ['waiting for the group to be joined']
      const stuck = new Map<string, Partition[]>()
      for (const [partition, { checkpoint, problem }] of cursors) {
        const reason = problem ?? (checkpoint === undefined ? 'its checkpoint is being loaded' : undefined)
        if (reason !== undefined) stuck.set(reason, [...(stuck.get(reason) ?? []), partition])
      }
      return [...stuck].map(([reason, [first, ...others]]) => {
        const more = others.length === 0 ? '' : ` and ${others.length} more`
        return `partition ${first}${more}: ${reason}`
      })
    },

    /** Aborted by `close` and by a halt: nothing is applied from then on. */
    closing: closing.signal as AbortSignal,
    close: () => closing.abort(),
  }
}
