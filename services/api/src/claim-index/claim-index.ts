import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { undecodableText } from '@plant-store/shared/event-log/undecodable.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { type Checkpoint, checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { coverageReach, createReadFloor, hasCoverageGap } from '@plant-store/shared/protocol/coverage.ts'
import { createWindow, type Window } from '@plant-store/shared/protocol/window.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { formatPartitions } from '@plant-store/shared/runtime/format.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { eachApart, repeat } from '@plant-store/shared/runtime/retry.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { createFirstClaims, FIRST_CLAIM_WAITS } from './first-claims.ts'

const READ_CHECKPOINTS_EVERY_MS = 1_000
/** The checkpoint readings in one rest while others write much. */
const READINGS_FOR_EACH_REST = 3
/** Acknowledgements add the records of this instance meanwhile. */
const TAIL_REST_MS = 50
/** Others write so much that reading it costs more than asking the read model. */
const SHARED_LOG_RECORDS_PER_S = 1_000
/** Several times what a claim takes in a window: a window that continues further back has room up to its former end. */
const BYTES_PER_REWOUND_RECORD = 512

/** The reader that feeds the claim index. */
type Tail = Pick<
  Follower,
  'start' | 'assigned' | 'problems' | 'undecodable' | 'verified' | 'reloadCheckpoints' | 'updateEnds' | 'lag' | 'close'
>

export type ClaimIndexOptions = {
  readModel: Pick<ReadModel, 'meta' | 'lookUpEach'>
  /** Creates a follower of the log that feeds the sink. */
  follow(sink: RecordSink): Tail
  log: Log
  time: Time
  /** Per partition, at the start: the log's next offset, and the read model's checkpoint if it could be read. */
  ends: readonly Offset[]
  checkpoints: ReadonlyMap<Partition, Checkpoint>
  windowMaxBytes: number
  waits?: typeof FIRST_CLAIM_WAITS
  sharedLogRecordsPerS?: number
  onHalt(error: Error): void
}

export type ClaimIndex = ReturnType<typeof createClaimIndex>

/**
 * What this instance knows of the log besides the read model: per partition a window of the newest claims, and the
 * monotonic-read floor. The tail fills the windows, and so does the acknowledgement of an append that follows the known
 * records without a gap.
 *
 * While others write much, the tail rests, and the read model decides. When something waits that the read model does
 * not decide, the tail continues after the read model's checkpoint.
 */
export function createClaimIndex(options: ClaimIndexOptions) {
  const { readModel, log, time, checkpoints, ends, windowMaxBytes, onHalt } = options
  const { sharedLogRecordsPerS = SHARED_LOG_RECORDS_PER_S, waits = FIRST_CLAIM_WAITS } = options
  const maxBytes = Math.floor(windowMaxBytes / ends.length)
  const passed = ends.map((end, p) => checkpoints.get(p as Partition) ?? checkpointBefore(end))
  const windows = passed.map(({ offset }) => createWindow(after(offset), maxBytes))
  const readFloor = createReadFloor(ends.map((end) => (end - 1) as Offset))
  /** The partitions of the read model that were never read: their windows start at the end that the log had. */
  const neverRead = new Set(windows.keys().filter((p) => !checkpoints.has(p as Partition)))
  /** The read model's checkpoints at the last reading. */
  const known = [...passed]
  /** The partitions where the last reading failed. */
  let unread: ReadonlySet<number> = new Set()
  /** The checkpoint that each window was last rewound to. */
  const rewoundTo: (Offset | undefined)[] = []
  /** Until then the tail does not rest. */
  let awakeUntil = Number.NEGATIVE_INFINITY
  let rest: { ended: Promise<void>; wake: AbortController } | undefined
  /** True while others write more than the threshold, by the last two readings. */
  let isLogShared = false
  let lastReadingAt = time.now()
  let ownSinceReading = 0
  let readings = 0
  const window = (partition: Partition) => windows[partition] as Window
  const firstClaims = createFirstClaims({
    readModel,
    window,
    time,
    waits,
    onSlow: wakeTail,
    readModelDecides: () => isLogShared,
  })

  /** Adds the records that are not in the window yet. Returns whether all of them are claims that are waited for. */
  function pass(partition: Partition, records: readonly LogRecord[], next: Checkpoint): boolean {
    const window = windows[partition] as Window
    let areOwn = true
    for (const record of records) {
      // Added when its append was acknowledged.
      if (record.offset < window.next) continue
      const first = window.pass(record)
      const isOwn = first !== undefined && firstClaims.seen(first)
      areOwn &&= isOwn
    }
    window.passTo(after(next.offset))
    if (next.offset > (passed[partition] as Checkpoint).offset) passed[partition] = next
    return areOwn
  }

  /** Drops the window's claims. It continues after this checkpoint of the read model. */
  function continueAfter(partition: Partition, checkpoint: Checkpoint): void {
    windows[partition]?.continueAt(after(checkpoint.offset))
    passed[partition] = checkpoint
  }

  /** Something waits for records. While the log is shared, the read model soon has them. */
  function needTail(waitedMs: number): void {
    if (!isLogShared || waitedMs >= waits.slowMs) wakeTail()
  }

  /** Ends the rest of the tail, and keeps it awake for a while. */
  function wakeTail(): void {
    awakeUntil = time.now() + TAIL_REST_MS + (isLogShared ? READ_CHECKPOINTS_EVERY_MS : 0)
    rest?.wake.abort()
  }

  function startRest() {
    const wake = new AbortController()
    const ms = isLogShared ? 2 * READINGS_FOR_EACH_REST * READ_CHECKPOINTS_EVERY_MS : TAIL_REST_MS
    const ended = delay(time, ms, wake.signal).then(() => {
      rest = undefined
    })
    return { ended, wake }
  }

  const tail = options.follow({
    checkpointOf: async (partition) => passed[partition] as Checkpoint,

    async onRecords(partition, records, next, from) {
      // The window was rewound, and records are missing before these.
      if (from.offset >= window(partition).next) return passed[partition] as Checkpoint
      if (!pass(partition, records, next) && !isLogShared) wakeTail()
      return next
    },

    /** Returns where to continue: after what acknowledgements have added, or what the read model has. */
    async rest(partition) {
      if (time.now() >= awakeUntil) {
        rest ??= startRest()
        await rest.ended
      }
      const checkpoint = known[partition] as Checkpoint
      if (isLogShared && checkpoint.offset >= window(partition).next) continueAfter(partition, checkpoint)
      return passed[partition] as Checkpoint
    },
    onHalt,
  })

  /** Reads the read model's checkpoints, and moves the windows and the rest of the tail accordingly. */
  async function readCheckpoints(): Promise<void> {
    const failed = new Set(windows.keys())
    let applied = 0
    try {
      await eachApart(windows.entries(), async ([p, window]) => {
        const partition = p as Partition
        const before = known[partition] as Checkpoint
        const { checkpoint } = await readModel.meta(partition)
        known[partition] = checkpoint
        applied += checkpoint.offset - before.offset
        // A reading late: the creates in flight were looked up since then, so that the window decides them.
        window.dropBefore(after(Math.min(before.offset, checkpoint.offset) as Offset))
        // The tail verifies that the log holds the event there, as at a start.
        if (neverRead.delete(p)) restart(partition, checkpoint)
        else if (hasCoverageGap(window, checkpoint.offset)) rewind(partition, checkpoint)
        else rewoundTo[p] = undefined
        failed.delete(p)
      })
    } finally {
      unread = failed
      const now = time.now()
      const others = ((applied - ownSinceReading) * 1_000) / (now - lastReadingAt)
      isLogShared = failed.size === 0 && others > sharedLogRecordsPerS
      lastReadingAt = now
      ownSinceReading = 0
      // The tail checks now and then that it is still the same log, right after a reading of where to continue.
      readings++
      if (!isLogShared || readings % READINGS_FOR_EACH_REST === 0) rest?.wake.abort()
    }
  }

  /**
   * The read model has fallen back, as after a failover: the tail reads the records after its checkpoint once more.
   * Returns false when the window has no room for them, or when it had none before.
   */
  function rewind(partition: Partition, checkpoint: Checkpoint): boolean {
    const records = window(partition).next - after(checkpoint.offset)
    if (records > maxBytes / BYTES_PER_REWOUND_RECORD || rewoundTo[partition] === checkpoint.offset) return false
    rewoundTo[partition] = checkpoint.offset
    restart(partition, checkpoint)
    return true
  }

  /** The window starts again after this checkpoint, and the tail reads from there. */
  function restart(partition: Partition, checkpoint: Checkpoint): void {
    continueAfter(partition, checkpoint)
    const reader = tail.assigned()?.get(partition)
    if (reader !== undefined) tail.reloadCheckpoints(new Map([[partition, reader]]))
    wakeTail()
  }

  const checkpointReads = repeat({
    time,
    everyMs: READ_CHECKPOINTS_EVERY_MS,
    task: readCheckpoints,
    what: 'reading the checkpoints',
    log,
    onHalt,
  })

  /** A partition that cannot be read is a problem of its creates and reads alone. */
  const isAnyRead = () => unread.size < windows.length

  return {
    readFloor,
    partitions: windows.length,
    window,
    tail,
    needTail,
    wait: firstClaims.wait,
    asked: firstClaims.asked,

    /** The last offset of a partition that the window has passed. */
    passed(partition: Partition): Checkpoint {
      return passed[partition] as Checkpoint
    },

    /**
     * Takes the acknowledgement of a record of this instance, where it is the same as a delivery: no record of others
     * is before it that the window does not have. Returns false where it is not.
     */
    appended(partition: Partition, claim: Omit<Claim, 'offset'>, offset: Offset | undefined): boolean {
      ownSinceReading++
      if (offset !== window(partition).next) {
        // A tail that was faster has woken itself.
        if (offset === undefined || offset > window(partition).next) needTail(0)
        return false
      }
      pass(partition, [{ offset, claim: { offset, ...claim } }], { offset, eventId: claim.eventId })
      return true
    },

    /**
     * Closes a coverage gap if the tail can. Returns false when only a projector can: the log is too long for the
     * window from the read model's checkpoint on.
     */
    async closeGap(partition: Partition): Promise<boolean> {
      const { checkpoint } = await readModel.meta(partition)
      return !hasCoverageGap(window(partition), checkpoint.offset) || rewind(partition, checkpoint)
    },

    /**
     * Totals of all partitions; `gaps` counts partitions, `readModelLag` offsets that the read model is behind the
     * window.
     */
    totals(): { claims: number; bytes: number; gaps: number; readModelLag: number } {
      const totals = { claims: 0, bytes: 0, gaps: 0, readModelLag: 0 }
      for (const [p, window] of windows.entries()) {
        const { offset } = known[p] as Checkpoint
        totals.claims += window.size.claims
        totals.bytes += window.size.bytes
        totals.gaps += Number(hasCoverageGap(window, offset))
        totals.readModelLag += Math.max(0, window.next - after(offset))
      }
      return totals
    },

    /** The number of records in the log that neither the windows nor the read model have; undefined without a tail. */
    lag(): number | undefined {
      if (tail.assigned() === undefined) return undefined
      const reaches = windows.entries().map(([p, window]) => {
        const offset = coverageReach(window, (known[p] as Checkpoint).offset)
        return [p as Partition, { offset, eventId: '' as const }] as const
      })
      return tail.lag(new Map(reaches))
    },

    /** The reasons why this instance cannot serve every request now; empty if it can. */
    problems(): string[] {
      const problems = [
        ...tail.problems().map((problem) => `tail: ${problem}`),
        ...(isAnyRead() ? [] : checkpointReads.problems()),
      ]
      const undecodable = tail.undecodable().map(({ partition }) => partition)
      for (const [p, window] of windows.entries()) {
        const [end, { offset }] = [ends[p] as Offset, known[p] as Checkpoint]
        if (coverageReach(window, offset) < end - 1 && !undecodable.includes(p as Partition))
          problems.push(`tail: partition ${p} is read up to offset ${window.next} of ${end}`)
        if (hasCoverageGap(window, offset)) {
          problems.push(
            `coverage gap: the read model of partition ${p} is at offset ${offset}, the window of this instance ` +
              `starts at ${window.start}; a running projector closes the gap`,
          )
        }
      }
      return problems
    },

    /** Problems of single partitions: this instance can serve the requests of all others. */
    notices: (): string[] => [
      ...tail.undecodable().map(undecodableText),
      ...(isAnyRead() ? checkpointReads.problems() : []).map(
        (problem) => `${formatPartitions([...unread])}: ${problem}`,
      ),
    ],

    async close(): Promise<void> {
      await Promise.all([tail.close(), checkpointReads.close()])
    },
  }
}
