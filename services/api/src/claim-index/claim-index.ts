import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadFloor, hasCoverageGap } from '@plant-store/shared/protocol/coverage.ts'
import { createRetention, createWindow, type Window } from '@plant-store/shared/protocol/window.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'

const READ_CHECKPOINTS_EVERY_MS = 1_000
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
  onHalt(error: Error): void
}

export type ClaimIndex = ReturnType<typeof createClaimIndex>

type FirstClaimListener = (partition: Partition, claim: Claim) => void

/**
 * What this instance knows of the log besides the read model: per partition a window of the newest claims, which the
 * tail fills, and the monotonic-read floor.
 */
export function createClaimIndex(options: ClaimIndexOptions) {
  const { readModel, log, time, checkpoints, ends, windowMaxBytes, onHalt } = options
  const { retentionReadings = RETENTION_READINGS } = options
  const maxBytes = Math.floor(windowMaxBytes / checkpoints.length)
  const passed = [...checkpoints]
  const windows = passed.map(({ offset }) => createWindow(after(offset), maxBytes))
  const readFloor = createReadFloor(ends.map((end) => (end - 1) as Offset))
  const retentions = checkpoints.map(() => createRetention(retentionReadings))
  const readModelOffsets = checkpoints.map(({ offset }) => offset)
  let firstClaimListener: FirstClaimListener = () => {}

  async function readCheckpoints(): Promise<void> {
    for (const [p, window] of windows.entries()) {
      const { checkpoint } = await readModel.meta(p as Partition)
      readModelOffsets[p] = checkpoint.offset
      const before = retentions[p]?.add(checkpoint.offset)
      if (before !== undefined) window.dropBefore(before)
    }
  }
  const checkpointReads = repeat({
    time,
    everyMs: READ_CHECKPOINTS_EVERY_MS,
    task: readCheckpoints,
    what: 'reading the checkpoints',
    log,
    onHalt,
  })

  function pass(partition: Partition, records: readonly LogRecord[], next: Checkpoint): void {
    const window = windows[partition] as Window
    for (const record of records) {
      const first = window.pass(record)
      if (first !== undefined) firstClaimListener(partition, first)
    }
    window.passTo(after(next.offset))
    passed[partition] = next
  }

  const sink: RecordSink = {
    checkpointOf: async (partition) => passed[partition] as Checkpoint,
    async onRecords(partition, records, next) {
      pass(partition, records, next)
      return next
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

    /** Sets the listener for each claim that is the first of its id in its window, called after the window has it. */
    onFirstClaim(listener: FirstClaimListener): void {
      firstClaimListener = listener
    },

    /** Totals of all partitions; `gaps` counts partitions, `readModelLag` offsets that the read model is behind the tail. */
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
