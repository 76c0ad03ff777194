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
/** A failover that loses 30 s leaves no gap. */
const RETENTION_READINGS = 30

export type ClaimIndexOptions = {
  readModel: Pick<ReadModel, 'meta'>
  log: Log
  time: Time
  /** Per partition: the read model's checkpoint and the log's next offset, as they were at the start. */
  checkpoints: readonly Checkpoint[]
  ends: readonly Offset[]
  windowMaxBytes: number
  /** A window keeps what the read model has had for fewer readings of its checkpoint than these. */
  retentionReadings?: number
  onHalt(error: Error): void
}

export type ClaimIndex = ReturnType<typeof createClaimIndex>

type FirstClaimListener = (partition: Partition, claim: Claim) => void

/**
 * What this instance knows of the log: a window of its newest records for each partition, filled by
 * the tail, beside the read model's older part; and the readFloor, beyond which it told somebody of.
 */
export function createClaimIndex(options: ClaimIndexOptions) {
  const { readModel, log, time, checkpoints, ends, windowMaxBytes, onHalt } = options
  const { retentionReadings = RETENTION_READINGS } = options
  const maxBytes = Math.floor(windowMaxBytes / checkpoints.length)
  const passed = [...checkpoints]
  const windows = passed.map(({ offset }) => createWindow(after(offset), maxBytes))
  const readFloor = createReadFloor(ends.map((end) => (end - 1) as Offset))
  const retentions = checkpoints.map(() => createRetention(retentionReadings))
  const readModelAt = checkpoints.map(({ offset }) => offset)
  let onFirstClaim: FirstClaimListener = () => {}

  async function readCheckpoints(): Promise<void> {
    for (const [p, window] of windows.entries()) {
      const { checkpoint } = await readModel.meta(p as Partition)
      readModelAt[p] = checkpoint.offset
      const before = retentions[p]?.add(checkpoint.offset)
      if (before !== undefined) window.dropBefore(before)
    }
  }
  const reading = repeat({
    ...{ time, everyMs: READ_CHECKPOINTS_EVERY_MS, task: readCheckpoints, what: 'reading the checkpoints' },
    ...{ log, onHalt },
  })

  function pass(partition: Partition, records: readonly LogRecord[], next: Checkpoint): void {
    const window = windows[partition] as Window
    for (const record of records) {
      const first = window.pass(record)
      if (first !== undefined) onFirstClaim(partition, first)
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

    /** Takes in what the tail reads. */
    sink,

    /** `listener` hears of each claim that is the first of its id in its window, after it is there. */
    listen(listener: FirstClaimListener): void {
      onFirstClaim = listener
    },

    /** How much this view holds, how many partitions have a gap, and how far the read model is behind the tail, in offsets. */
    extent(): { claims: number; bytes: number; gaps: number; readModelLag: number } {
      const extent = { claims: 0, bytes: 0, gaps: 0, readModelLag: 0 }
      for (const [p, window] of windows.entries()) {
        const checkpoint = readModelAt[p] as Offset
        extent.claims += window.size.claims
        extent.bytes += window.size.bytes
        extent.gaps += Number(hasCoverageGap(window, checkpoint))
        extent.readModelLag += Math.max(0, window.next - after(checkpoint))
      }
      return extent
    },

    /** Why this view can't answer everything now; none when it can. */
    problems(): string[] {
      const failed = reading.problem()
      const problems = failed === undefined ? [] : [failed]
      for (const [p, window] of windows.entries()) {
        const end = ends[p] as Offset
        const checkpoint = readModelAt[p] as Offset
        if (window.next < end)
          problems.push(`tail: partition ${p} is read up to offset ${window.next} of ${end}`)
        if (hasCoverageGap(window, checkpoint)) {
          problems.push(
            `coverage: the read model of partition ${p} is at offset ${checkpoint}, this instance knows from ` +
              `${window.start} on; a running projector closes the gap`,
          )
        }
      }
      return problems
    },

    close: reading.close,
  }
}
