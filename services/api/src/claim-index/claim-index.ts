import type { BaseOffsets } from '@plant-store/shared/event-log/append.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadFloor, hasCoverageGap } from '@plant-store/shared/protocol/coverage.ts'
import { createRetention, createWindow, type Window } from '@plant-store/shared/protocol/window.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { eachApart, repeat } from '@plant-store/shared/runtime/retry.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

const READ_CHECKPOINTS_EVERY_MS = 1_000
const TAIL_REST_MS = 50
/** A failover that loses 30 s leaves no coverage gap. */
const RETENTION_READINGS = 30

export type ClaimIndexOptions = {
  readModel: Pick<ReadModel, 'meta'>
  log: Log
  time: Time
  /** Per partition, at the start: the read model's checkpoint and the log's next offset. */
  checkpoints: readonly Checkpoint[]
  ends: readonly Offset[]
  windowMaxBytes: number
  /** A window keeps a claim until this many readings of the read model's checkpoint have passed it. */
  retentionReadings?: number
  /** Called for each acknowledged append, with whether its creates need not wait for the tail. */
  onAcknowledged?(isDecided: boolean): void
  onHalt(error: Error): void
}

export type ClaimIndex = ReturnType<typeof createClaimIndex>

/** Returns whether a create that waits here has the event of this claim. */
type FirstClaimListener = (partition: Partition, claim: Claim) => boolean

/** A claim that this instance appends; the log gives it its offset. */
export type OwnClaim = { partition: Partition; claim: Omit<Claim, 'offset'> }

/**
 * What this instance knows of the log besides the read model: per partition a window of the newest claims, and the
 * monotonic-read floor. The tail fills the windows, and so does the acknowledgement of an append that follows the known
 * records without a gap.
 */
export function createClaimIndex(options: ClaimIndexOptions) {
  const { readModel, log, time, checkpoints, ends, windowMaxBytes, onHalt } = options
  const { retentionReadings = RETENTION_READINGS, onAcknowledged } = options
  const maxBytes = Math.floor(windowMaxBytes / checkpoints.length)
  const passed = [...checkpoints]
  const windows = passed.map(({ offset }) => createWindow(after(offset), maxBytes))
  const readFloor = createReadFloor(ends.map((end) => (end - 1) as Offset))
  const retentions = checkpoints.map(() => createRetention(retentionReadings))
  const readModelOffsets = checkpoints.map(({ offset }) => offset)
  let firstClaimListener: FirstClaimListener = () => false
  /** Until then the tail does not rest. */
  let awakeUntil = Number.NEGATIVE_INFINITY
  let rest: { ended: Promise<void>; wake: AbortController } | undefined

  async function readCheckpoints(): Promise<void> {
    await eachApart(windows.entries(), async ([p, window]) => {
      const { checkpoint } = await readModel.meta(p as Partition)
      readModelOffsets[p] = checkpoint.offset
      const before = retentions[p]?.add(checkpoint.offset)
      if (before !== undefined) window.dropBefore(before)
    })
  }
  const checkpointReads = repeat({
    time,
    everyMs: READ_CHECKPOINTS_EVERY_MS,
    task: readCheckpoints,
    what: 'reading the checkpoints',
    log,
    onHalt,
  })

  /** Adds the records that are not in the window yet. Returns whether all of them are claims of this instance. */
  function pass(partition: Partition, records: readonly LogRecord[], next: Checkpoint): boolean {
    const window = windows[partition] as Window
    let areOwn = true
    for (const record of records) {
      // Added when its append was acknowledged.
      if (record.offset < window.next) continue
      const first = window.pass(record)
      const isOwn = first !== undefined && firstClaimListener(partition, first)
      areOwn &&= isOwn
    }
    window.passTo(after(next.offset))
    if (next.offset > (passed[partition] as Checkpoint).offset) passed[partition] = next
    return areOwn
  }

  /**
   * Ends the rest of the tail and keeps it awake for a while: somebody needs records that only the tail delivers, or
   * others write to the log.
   */
  function wakeTail(): void {
    awakeUntil = time.now() + TAIL_REST_MS
    rest?.wake.abort()
  }

  function startRest() {
    const wake = new AbortController()
    const ended = delay(time, TAIL_REST_MS, wake.signal).then(() => {
      rest = undefined
    })
    return { ended, wake }
  }

  /** Where each partition's records start; undefined unless they follow the known ones, or are known already. */
  function newPartitions(
    claims: ReadonlyMap<Partition, OwnClaim[]>,
    bases: BaseOffsets,
  ): [Partition, Offset][] | undefined {
    const found: [Partition, Offset][] = []
    for (const [partition, own] of claims) {
      const { next } = windows[partition] as Window
      const base = bases?.get(partition)
      if (base === next) found.push([partition, base])
      else if (base === undefined || base + own.length > next) return undefined
    }
    return found
  }

  const sink: RecordSink = {
    checkpointOf: async (partition) => passed[partition] as Checkpoint,
    async onRecords(partition, records, next) {
      if (!pass(partition, records, next)) wakeTail()
      return next
    },
    /** After a fetch that brought only own claims the tail rests: acknowledgements add the next ones without it. */
    async rest(partition) {
      if (time.now() >= awakeUntil) {
        rest ??= startRest()
        await rest.ended
      }
      return passed[partition] as Checkpoint
    },
    onHalt,
  }

  return {
    readFloor,
    partitions: windows.length,

    window(partition: Partition): Window {
      return windows[partition] as Window
    },

    /** The last offset of a partition that the tail has passed. */
    passed(partition: Partition): Checkpoint {
      return passed[partition] as Checkpoint
    },

    /** Receives the records of the tail. */
    sink,
    wakeTail,

    /**
     * Takes an acknowledged append as a delivery of its claims, given in their order. It is one only where the base
     * offset of each partition is the next offset of its window: then no record of others is in between. Otherwise the
     * tail delivers all of them, so that the creates of an append are decided together.
     */
    acknowledged(claims: readonly OwnClaim[], bases: BaseOffsets): void {
      const byPartition = Map.groupBy(claims, ({ partition }) => partition)
      const found = newPartitions(byPartition, bases)
      onAcknowledged?.(found !== undefined)
      if (found === undefined) wakeTail()
      for (const [partition, base] of found ?? []) {
        const own = byPartition.get(partition) as OwnClaim[]
        const records = own.map(({ claim }, n) => {
          const offset = (base + n) as Offset
          return { offset, claim: { offset, ...claim } }
        })
        const last = records.at(-1) as LogRecord & { claim: Claim }
        pass(partition, records, { offset: last.offset, eventId: last.claim.eventId })
      }
    },

    /** Sets the listener for each claim that is the first of its id in its window, called after the window has it. */
    onFirstClaim(listener: FirstClaimListener): void {
      firstClaimListener = listener
    },

    /**
     * Totals of all partitions; `gaps` counts partitions, `readModelLag` offsets that the read model is behind the
     * tail.
     */
    totals(): { claims: number; bytes: number; gaps: number; readModelLag: number } {
      const totals = { claims: 0, bytes: 0, gaps: 0, readModelLag: 0 }
      for (const [p, window] of windows.entries()) {
        const checkpoint = readModelOffsets[p] as Offset
        totals.claims += window.size.claims
        totals.bytes += window.size.bytes
        totals.gaps += Number(hasCoverageGap(window, checkpoint))
        totals.readModelLag += Math.max(0, window.next - after(checkpoint))
      }
      return totals
    },

    /** Why this instance cannot serve every request now; empty when it can. */
    problems(): string[] {
      const failed = checkpointReads.problem()
      const problems = failed === undefined ? [] : [failed]
      for (const [p, window] of windows.entries()) {
        const end = ends[p] as Offset
        const checkpoint = readModelOffsets[p] as Offset
        if (window.next < end) problems.push(`tail: partition ${p} is read up to offset ${window.next} of ${end}`)
        if (hasCoverageGap(window, checkpoint)) {
          problems.push(
            `coverage gap: the read model of partition ${p} is at offset ${checkpoint}, the window of this instance ` +
              `starts at ${window.start}; a running projector closes the gap`,
          )
        }
      }
      return problems
    },

    close: checkpointReads.close,
  }
}
