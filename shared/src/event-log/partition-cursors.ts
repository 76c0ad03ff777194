import type { LogRecord } from '../plant/plant-created.ts'
import { FIRST, type Offset, type Partition } from '../plant/position.ts'
import {
  type Checkpoint,
  type Delivery,
  decideDelivery,
  outOfBounds,
  seekOffset,
} from '../protocol/checkpoint.ts'
import { messageOf, PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { type BackOff, createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'

/** What takes in the records of a log, and tells where it stands. */
export type RecordSink<R extends LogRecord = LogRecord> = {
  /** Where to go on; asked at each assignment of a partition and at each `reseek`. */
  checkpointOf(partition: Partition): Promise<Checkpoint>
  /**
   * Takes in the records between two checkpoints and tells the one then reached: `next`, or another to
   * seek to. One call at a time for each partition. When it rejects, it is called again.
   */
  onRecords(partition: Partition, records: R[], next: Checkpoint, from: Checkpoint): Promise<Checkpoint>
  /** Called once, when following can't go on. */
  onHalt(error: Error): void
}

/** What delivers the records of a log from the offsets it is told to. */
export type Source = {
  /** Has nothing more delivered of a partition until it is sought. */
  pause(partition: Partition): void
  /** Has the next delivery of a partition begin here. */
  seek(partition: Partition, offset: Offset): void
  /** The next offset to be written in each partition. Throws a PreconditionError when the topic is not as it must be. */
  ends(): Promise<Offset[]>
}

/**
 * Where a partition stands; `checkpoint` is undefined while it is being asked for. It is `proven` once the log
 * was seen to hold the event that the checkpoint names. `told` counts how often it was told to go on elsewhere.
 * `problem` is why it does not go on.
 */
type PartitionCursor = {
  checkpoint: Checkpoint | undefined
  proven: boolean
  told: number
  turn: Promise<void>
  problem: string | undefined
  backOff: BackOff
}

const RETRY = { firstMs: 250, longestMs: 5_000 }
export const SERVICE_REMEDY =
  'the topic was made anew or lost its end, or REDIS_URL leads to the read model of another one. Restore the ' +
  'topic, or set REDIS_URL and PLANTS_TOPIC right, or, if both are right as they are, delete the keys of this ' +
  'topic in Redis to have them folded again'
/** What is to be said of a topic that got more partitions. */
export const GROWN = 'its ids have moved, and it can not be used any more. Restore it from a copy'
/** What comes before a partition was sought was on its way already. */
const UNSOUGHT_WAIT_MS = 250

export type PartitionCursorsOptions = {
  partitions: number
  time: Time
  log: Log
  /** The waits after records were not taken in. */
  retry?: { firstMs: number; longestMs: number } | undefined
  /** What to do about another log, where it is not for those who run the service. */
  remedy?: string | undefined
}

export type PartitionCursors = ReturnType<typeof createPartitionCursors>

/**
 * Where a reader stands in each partition that it is assigned. Each assignment is sought to the sink's
 * checkpoint, and each delivery is judged against it by `decideDelivery`, so that nothing is skipped, taken twice, or taken
 * from another log.
 */
export function createPartitionCursors<R extends LogRecord>(
  { checkpointOf, onRecords, onHalt }: RecordSink<R>,
  source: Source,
  { partitions, time, log, retry = RETRY, remedy = SERVICE_REMEDY }: PartitionCursorsOptions,
) {
  const closing = new AbortController()
  let cursors: Map<Partition, PartitionCursor> | undefined
  const allProven = Promise.withResolvers<void>()
  const isCurrent = (partition: Partition, cursor: PartitionCursor) => cursors?.get(partition) === cursor

  function fail(error: Error): void {
    if (closing.signal.aborted) return
    closing.abort()
    onHalt(error)
  }

  const halt = (reason: string, partition: Partition) => fail(anotherLog(reason, partition, remedy))

  /**
   * Seeks partitions to their checkpoints, as soon as these can be told. The log's ends are asked for
   * after them, or a checkpoint that moved meanwhile would seem to lie beyond the end.
   */
  async function locate(located: ReadonlyMap<Partition, PartitionCursor>): Promise<void> {
    const allCurrent = () => [...located].every(([partition, cursor]) => isCurrent(partition, cursor))
    const backOff = createBackOff(RETRY)
    while (!closing.signal.aborted && allCurrent()) {
      try {
        const checkpoints = await Promise.all([...located.keys()].map((partition) => checkpointOf(partition)))
        const ends = await source.ends()
        for (const [index, [partition, cursor]] of [...located].entries()) {
          const checkpoint = checkpoints[index] as Checkpoint
          const bounds = outOfBounds(checkpoint, ends[partition] as Offset)
          if (bounds !== undefined) return halt(bounds, partition)
          goTo(partition, cursor, cursor.checkpoint, checkpoint)
        }
        return noteProof()
      } catch (error) {
        if (error instanceof PreconditionError) return fail(error)
        const retryInMs = backOff.nextMs()
        log.warn({ err: error, retryInMs }, 'can not tell where to follow the log from; trying again')
        for (const cursor of located.values()) cursor.problem = `not located: ${messageOf(error)}`
        await delay(time, retryInMs, closing.signal)
      }
    }
  }

  /** Goes on from a checkpoint that this reader was told, not one it reached: the log has yet to prove that one. */
  function goTo(
    partition: Partition,
    cursor: PartitionCursor,
    from: Checkpoint | undefined,
    checkpoint: Checkpoint,
  ): void {
    // Unless it is being asked for again meanwhile.
    if (cursor.checkpoint !== from) return
    cursor.checkpoint = checkpoint
    cursor.problem = undefined
    cursor.proven = checkpoint.eventId === ''
    cursor.told++
    source.seek(partition, seekOffset(checkpoint))
  }

  function noteProof(): void {
    if (cursors !== undefined && [...cursors.values()].every(({ proven }) => proven)) allProven.resolve()
  }

  async function take(partition: Partition, cursor: PartitionCursor, delivery: Delivery<R>): Promise<void> {
    const { checkpoint } = cursor
    if (checkpoint === undefined || !isCurrent(partition, cursor) || closing.signal.aborted) return
    // What lies beyond the checkpoint does not show which event the log holds there.
    if (!cursor.proven && delivery.requested > checkpoint.offset)
      return source.seek(partition, seekOffset(checkpoint))
    const admission = decideDelivery(checkpoint, delivery)
    if (admission.do === 'halt') return halt(admission.reason, partition)
    if (admission.do === 'seek') return source.seek(partition, seekOffset(checkpoint))
    if (!cursor.proven && delivery.last >= checkpoint.offset) {
      cursor.proven = true
      noteProof()
    }
    await pass(partition, cursor, admission.records, checkpoint, admission.checkpoint)
  }

  async function pass(
    partition: Partition,
    cursor: PartitionCursor,
    records: R[],
    from: Checkpoint,
    next: Checkpoint,
  ): Promise<void> {
    try {
      const reached = await onRecords(partition, records, next, from)
      cursor.problem = undefined
      cursor.backOff.reset()
      if (reached !== next) return goTo(partition, cursor, from, reached)
      // Unless it is being asked for again meanwhile.
      if (cursor.checkpoint === from) cursor.checkpoint = next
    } catch (error) {
      if (error instanceof PreconditionError) return fail(error)
      // What was assigned anew meanwhile goes on by itself, and nobody would end this pause.
      if (!isCurrent(partition, cursor)) return
      const retryInMs = cursor.backOff.nextMs()
      const details = { err: error, partition, offset: next.offset, retryInMs }
      log.warn(details, 'records were not taken in; trying again')
      cursor.problem = `records are not taken in: ${messageOf(error)}`
      source.pause(partition)
      // Not within the turn: kafkajs fetches nothing of a broker's other partitions meanwhile, and sends no heartbeat.
      void goOnIn(retryInMs, partition, cursor)
    }
  }

  /** Ends a pause, unless something else will: the partition is being located, or assigned anew. */
  async function goOnIn(ms: number, partition: Partition, cursor: PartitionCursor): Promise<void> {
    await delay(time, ms, closing.signal)
    const { checkpoint } = cursor
    if (closing.signal.aborted || checkpoint === undefined || !isCurrent(partition, cursor)) return
    source.seek(partition, seekOffset(checkpoint))
  }

  return {
    /** Begins with these partitions anew, wherever they stood before. */
    assign(assigned: readonly Partition[]): void {
      const unknown = assigned.find((partition) => partition >= partitions)
      if (unknown !== undefined) {
        fail(grown(unknown, partitions))
        return
      }
      const begun = new Map<Partition, PartitionCursor>()
      cursors = begun
      for (const partition of assigned) {
        begun.set(partition, {
          ...{ checkpoint: undefined, proven: false, told: 0, turn: Promise.resolve() },
          ...{ problem: undefined, backOff: createBackOff(retry) },
        })
        source.pause(partition)
      }
      const located = locate(begun).catch(fail)
      for (const cursor of begun.values()) cursor.turn = located
    },

    /** Has no partition any more. */
    revoke(): void {
      cursors = undefined
    },

    /**
     * Judges what was delivered, after all that came before of this partition; `read` tells it then, or nothing when
     * it is out of date. Resolves with how far the partition stands afterwards.
     */
    async deliver(partition: Partition, read: () => Delivery<R> | undefined): Promise<Offset | undefined> {
      const cursor = cursors?.get(partition)
      if (cursor === undefined) return undefined
      if (cursor.checkpoint === undefined) {
        // Not told yet where to begin: what came is fetched again, and the heartbeats go on meanwhile.
        await Promise.race([cursor.turn, delay(time, UNSOUGHT_WAIT_MS, closing.signal)])
        return undefined
      }
      const { told } = cursor
      let isTaken = false
      cursor.turn = cursor.turn
        .then(async () => {
          // What was fetched before may end before the checkpoint that this reader was then told.
          const delivery = cursor.told === told ? read() : undefined
          isTaken = delivery !== undefined
          if (delivery !== undefined) await take(partition, cursor, delivery)
        })
        .catch(fail)
      await cursor.turn
      return isTaken && isCurrent(partition, cursor) ? cursor.checkpoint?.offset : undefined
    },

    /** The partitions assigned now with their checkpoints; undefined when none are. */
    assigned(): Map<Partition, Checkpoint | undefined> | undefined {
      return cursors && new Map([...cursors].map(([partition, { checkpoint }]) => [partition, checkpoint]))
    },

    /** Resolves when each partition was seen to hold the event that its first checkpoint names: it is the right log. */
    proven: allProven.promise,

    /** Asks for the checkpoints of these partitions again and goes on from there, save those that moved on from what was seen. */
    reseek(seen: ReadonlyMap<Partition, Checkpoint>): void {
      const moved = new Map(
        [...(cursors ?? [])].filter(
          ([partition, { checkpoint }]) => checkpoint !== undefined && checkpoint === seen.get(partition),
        ),
      )
      if (moved.size === 0) return
      const turns = [...moved.values()].map(({ turn }) => turn)
      const located = Promise.all(turns)
        .then(() => locate(moved))
        .catch(fail)
      for (const [partition, cursor] of moved) {
        Object.assign(cursor, { checkpoint: undefined, turn: located })
        source.pause(partition)
      }
    },

    /** Why partitions do not go on, in words; none when all do. */
    problems(): string[] {
      if (cursors === undefined) return ['waiting for the group to be joined']
      const stuck = new Map<string, Partition[]>()
      for (const [partition, { checkpoint, problem }] of cursors) {
        const reason = problem ?? (checkpoint === undefined ? 'its checkpoint is not known yet' : undefined)
        if (reason !== undefined) stuck.set(reason, [...(stuck.get(reason) ?? []), partition])
      }
      return [...stuck].map(([reason, [first, ...others]]) => {
        const more = others.length === 0 ? '' : ` and ${others.length} more`
        return `partition ${first}${more}: ${reason}`
      })
    },

    /** Aborted when nothing is taken in any more: after `close`, and after a halt. */
    closing: closing.signal as AbortSignal,
    close: () => closing.abort(),
  }
}

/** Why this log can't be the one that a checkpoint was taken from, and what to do about it. */
function anotherLog(reason: string, partition: Partition, remedy: string): PreconditionError {
  return new PreconditionError(`${reason} (partition ${partition}): ${remedy}`, 'another-log')
}

/** Throws a PreconditionError when a log with these ends can't be the one of which so much was passed. */
export function assertWithinBounds(
  passed: Iterable<readonly [Partition, Checkpoint]>,
  ends: readonly Offset[],
  remedy = SERVICE_REMEDY,
): void {
  for (const [partition, checkpoint] of passed) {
    const reason = outOfBounds(checkpoint, ends[partition] ?? FIRST)
    if (reason !== undefined) throw anotherLog(reason, partition, remedy)
  }
}

function grown(partition: Partition, partitions: number): PreconditionError {
  return new PreconditionError(
    `the topic grew beyond ${partitions} partitions (partition ${partition}): ${GROWN}, with ${partitions} partitions`,
    'partitions-changed',
  )
}
