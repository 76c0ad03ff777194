import {
  type Appender,
  AppendRefused,
  type BaseOffsets,
  bytesOf,
  MAX_APPEND_BYTES,
} from '@plant-store/shared/event-log/append.ts'
import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { messageOf } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import type { CreateTracing } from './create-span.ts'
import type { PendingCreate } from './pending-create.ts'

type LookUp = Pick<ReadModel, 'lookUp'>

export const CYCLE_LIMITS = {
  maxQueuedBytes: 16 * 1_048_576,
  /** A create that queues behind one that has waited half of its time would hardly be in time. */
  maxQueueAgeMs: 5_000,
  maxBatchRecords: 2_000,
  maxBatchBytes: MAX_APPEND_BYTES,
}
/** Least time between the starts of two cycles, unless a create was alone: fewer and fuller batches cost less CPU. */
const MIN_CYCLE_MS = 4
const LOOK_UP_RETRY_MS = 50
const APPEND_RETRY_MS = 100
/** A change of leaders takes less. */
const NOT_ACKNOWLEDGED_MAX_MS = 10_000

export type CycleOptions = { log: Log; time: Time; limits: typeof CYCLE_LIMITS; tracing?: CreateTracing | undefined }

/**
 * Group commit. One cycle is one pipelined look-up for all queued creates, then one append of those whose id is absent.
 * The next cycle fills in the meantime.
 */
export function createCommitCycle(
  readModel: LookUp,
  appender: Pick<Appender, 'append'>,
  claimIndex: ClaimIndex,
  { log, time, limits, tracing }: CycleOptions,
) {
  const queue: PendingCreate[] = []
  let queuedBytes = 0
  let running: Promise<void> | undefined
  /** Since when no append was acknowledged although creates wait for one, and the last reason. */
  let unacknowledgedSince: number | undefined
  let failure: string | undefined

  function nextBatch(): PendingCreate[] {
    let records = 0
    let bytes = 0
    for (const pending of queue) {
      if (records === limits.maxBatchRecords || bytes >= limits.maxBatchBytes) break
      bytes += bytesOf(pending.record)
      records++
    }
    queuedBytes -= bytes
    return queue.splice(0, records)
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const nextAt = time.now() + MIN_CYCLE_MS
      const batch = nextBatch()
      for (const pending of batch) pending.cycleStarted()
      await commit(batch)
      const earlyMs = nextAt - time.now()
      if (batch.length > 1 && earlyMs > 0) await delay(time, earlyMs)
    }
    running = undefined
    unacknowledgedSince = undefined
  }

  async function commit(batch: readonly PendingCreate[]): Promise<void> {
    const lookUps = await lookUp(batch)
    const toAppend: PendingCreate[] = []
    const now = time.now()
    for (const { pending, entry, checkpoint } of lookUps) {
      if (entry instanceof EntryError) {
        log.warn({ err: entry }, 'an entry of the read model is unreadable; nothing was written for its id')
        pending.entryUnreadable(entry)
        continue
      }
      pending.lookedUp(entry, checkpoint, claimIndex.window(pending.partition), now)
      if (pending.isAppended) toAppend.push(pending)
    }
    await append(toAppend)
  }

  /** Looks up until Redis responds, as it does soon after a failover, or all creates are resolved. */
  async function lookUp(batch: readonly PendingCreate[]): Promise<BatchLookUp> {
    for (
      let unresolved = batch;
      unresolved.length > 0;
      unresolved = unresolved.filter(({ state }) => state === 'queued')
    ) {
      try {
        return await lookUpBatch(readModel, unresolved)
      } catch (err) {
        // One line for all attempts of a batch.
        if (unresolved === batch) log.warn({ err }, 'the look-up in the read model failed; trying again')
        for (const pending of unresolved) pending.lookUpFailed(err)
        await delay(time, LOOK_UP_RETRY_MS)
      }
    }
    return []
  }

  /**
   * Appends until Kafka acknowledges the append or all its creates are resolved. If a failed attempt did reach the log,
   * the log has the record twice, with the same event id: one creation. Creates whose first attempt Kafka refused are
   * resolved.
   */
  async function append(batch: readonly PendingCreate[]): Promise<void> {
    for (
      let unresolved = batch;
      unresolved.length > 0;
      unresolved = unresolved.filter(({ isAppended }) => isAppended)
    ) {
      let bases: BaseOffsets
      unacknowledgedSince ??= time.now()
      try {
        const append = () => appender.append(unresolved.map(({ record }) => record))
        bases = await (tracing === undefined ? append() : tracing.send(unresolved, append))
      } catch (err) {
        failAttempt(unresolved, err)
        await delay(time, APPEND_RETRY_MS)
        continue
      }
      unacknowledgedSince = undefined
      return claimIndex.acknowledged(unresolved, bases)
    }
  }

  function failAttempt(batch: readonly PendingCreate[], err: unknown): void {
    const records = batch.length
    failure = messageOf(err)
    if (err instanceof AppendRefused) {
      log.warn({ records }, `an append was refused; nothing was written: ${err.message}`)
      for (const pending of batch) pending.appendRefused(err)
    } else {
      log.warn({ err, records }, 'an append was not acknowledged; trying again')
      for (const pending of batch) pending.appendFailed()
      claimIndex.wakeTail()
    }
  }

  return {
    /** Queues a create for the next cycle. Returns false when the queue is too large or its oldest create too old. */
    submit(pending: PendingCreate): boolean {
      const oldest = queue[0] ?? pending
      const ageMs = pending.submittedAt - oldest.submittedAt
      if (queuedBytes >= limits.maxQueuedBytes || ageMs >= limits.maxQueueAgeMs) return false
      queue.push(pending)
      queuedBytes += bytesOf(pending.record)
      // A microtask later, so that creates which arrive together share a cycle.
      running ??= Promise.resolve().then(run)
      return true
    },

    /** Frees the room of a create that was resolved in the queue. */
    remove(pending: PendingCreate): void {
      const index = queue.indexOf(pending)
      if (index === -1) return
      queue.splice(index, 1)
      queuedBytes -= bytesOf(pending.record)
    },

    /** Why creates wait for Kafka in vain; empty as soon as none waits, so that the next one finds out. */
    problems(): string[] {
      const sinceMs = time.now() - (unacknowledgedSince ?? time.now())
      if (sinceMs <= NOT_ACKNOWLEDGED_MAX_MS) return []
      return [
        `kafka: no append acknowledged for ${Math.round(sinceMs / 1_000)} s`,
        ...(failure === undefined ? [] : [`kafka: ${failure}`]),
      ]
    },

    queued: (): { records: number; bytes: number } => ({ records: queue.length, bytes: queuedBytes }),

    /** Resolves when the queue is empty and no append is in flight. */
    async drained(): Promise<void> {
      await running
    },
  }
}

type BatchLookUp = {
  pending: PendingCreate
  entry: PartitionLookUp['entries'][number]
  checkpoint: Offset
}[]

/** Looks up all ids of the batch in one round trip; each result has the checkpoint of the moment of its look-up. */
export async function lookUpBatch(readModel: LookUp, batch: readonly PendingCreate[]): Promise<BatchLookUp> {
  const groups = [...Map.groupBy(batch, ({ partition }) => partition)]
  const lookUps = await readModel.lookUp(
    groups.map(([partition, group]) => ({ partition, ids: group.map(({ id }) => id) })),
  )
  return groups.flatMap(([, group], index) => {
    const { checkpoint, entries } = lookUps[index] as PartitionLookUp
    return group.map((pending, at) => ({ pending, entry: entries[at], checkpoint }))
  })
}
