import { claimsItsId, reasonText } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { formatDuration } from '../runtime/format.ts'
import type { Log } from '../runtime/log.ts'
import type { Time } from '../runtime/time.ts'
import { type Batch, batchesOf } from './batches.ts'
import type { OpenFirstClaims } from './first-claims/first-claims.ts'
import type { PlantRecord } from './plant-record.ts'

/**
 * The time for which the records of one fetch are delivered before the rest is fetched again. Other partitions of the
 * same broker are not fetched during that time, and a rebalance of the group waits for it.
 */
const DELIVERY_MS = 2_000
/** A handler may be slow, but one that hangs stops all partitions of its broker. */
const CALL_MAX_MS = 300_000

/** The progress of one partition in this process, over all its assignments. */
type PartitionProgress = {
  /** The checkpoint of the records delivered to handlers. */
  delivered: Checkpoint | undefined
  /** Up to where records were read without a gap. */
  readTo: Checkpoint | undefined
  /** The highest checkpoint that the log must contain. */
  highest: Checkpoint | undefined
  /** The last event that a handler has now, and since when. */
  call?: { offset: Offset; since: number } | undefined
  /** Deliveries run one after another. */
  queue: Promise<unknown>
}

export type DeliveryOptions = {
  firstClaims: OpenFirstClaims
  /** The position where the group continues. */
  startOf(partition: Partition): Promise<Checkpoint>
  callHandler(partition: Partition, batch: Batch): Promise<void>
  batching: { maxEvents: number; deliverParked: boolean }
  /** Checks whether a handler may be called for this partition now. */
  mayContinue(partition: Partition): boolean
  /** Called when more of a partition was delivered, by this process or, at an assignment, by an earlier one. */
  onDelivered?(partition: Partition, offset: Offset): void
  time: Time
  log: Log
}

/**
 * Delivers the creations of a log to handlers: a record sink. The log is read from the checkpoint of the known first
 * claims or from the delivered position, whichever is lower. Delivered records are not delivered again.
 */
export function createDelivery(options: DeliveryOptions) {
  const { firstClaims, startOf, callHandler, batching, mayContinue, onDelivered, time, log } = options
  const progressByPartition = new Map<Partition, PartitionProgress>()

  function progressOf(partition: Partition): PartitionProgress {
    const known = progressByPartition.get(partition)
    if (known !== undefined) return known
    const created = { delivered: undefined, readTo: undefined, highest: undefined, queue: Promise.resolve() }
    progressByPartition.set(partition, created)
    return created
  }

  /** Never moves back, whatever another assignment of the partition still does. */
  function advance(partition: Partition, progress: PartitionProgress, checkpoint: Checkpoint): Checkpoint {
    const { delivered } = progress
    if (delivered && delivered.offset >= checkpoint.offset) return delivered
    progress.delivered = checkpoint
    onDelivered?.(partition, checkpoint.offset)
    return checkpoint
  }

  async function deliver(
    partition: Partition,
    progress: PartitionProgress,
    records: PlantRecord[],
    next: Checkpoint,
    from: Checkpoint,
  ): Promise<Checkpoint> {
    // Either the log was verified from there, or another assignment of the partition is still at work.
    if (progress.readTo !== undefined && from.offset > progress.readTo.offset) return progress.readTo
    const creations = new Set(await firstClaims.firstAmong(partition, records, next))
    const deliveredBefore = progress.delivered as Checkpoint
    const due = records.filter(({ offset }) => offset > deliveredBefore.offset)
    const deadline = time.now() + DELIVERY_MS
    // Not `delivered`: another member may have delivered more by now, and those claims are not known here.
    let reached = from
    try {
      for (const batch of batchesOf(due, partition, (record) => creations.has(record), batching)) {
        const isLate = reached !== from && time.now() > deadline
        if (isLate || !mayContinue(partition)) {
          progress.readTo = reached
          return reached
        }
        progress.call = { offset: batch.checkpoint.offset, since: time.now() }
        await callHandler(partition, batch)
        reached = batch.checkpoint
        advance(partition, progress, reached)
      }
      advance(partition, progress, next)
      progress.readTo = next
      return next
    } finally {
      progress.call = undefined
      const passed = progress.delivered as Checkpoint
      const skipped = due.filter(({ offset }) => offset <= passed.offset)
      if (!batching.deliverParked) logParked(partition, skipped)
    }
  }

  function logParked(partition: Partition, records: readonly PlantRecord[]): void {
    const parked = records.flatMap(({ offset, parked: reason }) => (reason === undefined ? [] : [{ offset, reason }]))
    const [first] = parked
    if (first === undefined) return
    const unreadable = parked.filter(({ reason }) => claimsItsId(reason)).length
    const details = { partition, offset: first.offset, parked: parked.length, unreadable }
    log.warn(details, `parked records were skipped; the first one: ${reasonText(first.reason)}`)
  }

  return {
    async checkpointOf(partition: Partition): Promise<Checkpoint> {
      const progress = progressOf(partition)
      const delivered = advance(partition, progress, await startOf(partition))
      const known = await firstClaims.checkpointOf(partition)
      const [low, high] = known.offset < delivered.offset ? [known, delivered] : [delivered, known]
      progress.highest = high
      progress.readTo = low
      // Both must be of this log before anything is read. A checkpoint without an event id is verified by bounds alone.
      return high.eventId === '' ? low : high
    },

    /** Runs one delivery at a time per partition, over all its assignments: handler calls never overlap. */
    onRecords(partition: Partition, records: PlantRecord[], next: Checkpoint, from: Checkpoint): Promise<Checkpoint> {
      const progress = progressOf(partition)
      const result = progress.queue.then(() => deliver(partition, progress, records, next, from))
      progress.queue = result.catch(() => {})
      return result
    },

    /** The checkpoint of what was delivered of a partition; undefined while it is not known. */
    deliveredOf: (partition: Partition): Checkpoint | undefined => progressByPartition.get(partition)?.delivered,

    /** The highest checkpoint of each partition that was delivered or is known. The log must contain all of them. */
    passed(): Map<Partition, Checkpoint> {
      const passed = new Map<Partition, Checkpoint>()
      for (const [partition, { delivered, highest }] of progressByPartition) {
        const known = delivered && highest ? higherOf(delivered, highest) : (delivered ?? highest)
        if (known !== undefined) passed.set(partition, known)
      }
      return passed
    },

    problems: (): string[] =>
      [...progressByPartition].flatMap(([partition, { call }]) => {
        const ms = call && time.now() - call.since
        if (ms === undefined || ms <= CALL_MAX_MS) return []
        return [
          `partition ${partition}: its handler has had offset ${call?.offset} for ${formatDuration(ms)}: limit its time`,
        ]
      }),

    async idle(): Promise<void> {
      await Promise.all([...progressByPartition.values()].map(({ queue }) => queue))
    },
  }
}

const higherOf = (a: Checkpoint, b: Checkpoint): Checkpoint => (a.offset > b.offset ? a : b)
