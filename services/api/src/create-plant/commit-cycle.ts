import type { Appender } from '@plant-store/shared/event-log/append.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf } from '@plant-store/shared/protocol/coverage.ts'
import { EntryError } from '@plant-store/shared/read-model/entry.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'

/** How a create ends: the first claim of its id is known, or one of the three ways of not knowing. */
export type Resolution =
  | { is: 'first'; first: Claim }
  | { is: 'notWritten'; cause?: unknown }
  | { is: 'outcomeUnknown' }
  | { is: 'coverageGap' }

/**
 * One create on its way. `queued`: certainly not in the log. `appended`: given to Kafka after a look-up
 * that found no entry up to `checkpoint`; from then on only the log says. `resolved`: answered.
 */
export type Pending = {
  id: PlantId
  record: NewRecord
  stage: 'queued' | 'appended' | 'resolved'
  checkpoint: Offset
  /** When it was submitted, and when its append began, as `time` counts. */
  since: number
  appendedAt: number
  resolve(resolution: Resolution): void
}

type LookUp = Pick<ReadModel, 'lookUp'>

export const CYCLE_LIMITS = {
  maxQueuedBytes: 16 * 1_048_576,
  /** Who queues behind one that has waited half of its time would hardly be in time. */
  maxQueueAgeMs: 5_000,
  maxBatchRecords: 2_000,
  /** Well below Kafka's `message.max.bytes` of 1 MiB; kafkajs does not split a batch. */
  maxBatchBytes: 512 * 1_024,
}
const RECORD_OVERHEAD_BYTES = 200
/** Unless a create was alone, the next cycle begins no sooner after this one: fewer and fuller batches cost less CPU. */
const CYCLE_EVERY_MS = 4
const APPEND_AGAIN_MS = 100

/**
 * Group commit. One cycle: one pipelined look-up for all that waits, then one append of what the view
 * does not know to be claimed. The next cycle fills meanwhile.
 */
export function createCommitCycle(
  readModel: LookUp,
  appender: Pick<Appender, 'append'>,
  claimIndex: ClaimIndex,
  { log, time, limits }: { log: Log; time: Time; limits: typeof CYCLE_LIMITS },
) {
  const queue: Pending[] = []
  let queuedBytes = 0
  let running: Promise<void> | undefined

  function takeBatch(): Pending[] {
    let records = 0
    let bytes = 0
    for (const pending of queue) {
      if (records === limits.maxBatchRecords || bytes >= limits.maxBatchBytes) break
      bytes += bytesOf(pending)
      records++
    }
    queuedBytes -= bytes
    return queue.splice(0, records)
  }

  function withdraw(pending: Pending): void {
    const at = queue.indexOf(pending)
    if (at === -1) return
    queue.splice(at, 1)
    queuedBytes -= bytesOf(pending)
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const nextAt = time.now() + CYCLE_EVERY_MS
      const batch = takeBatch()
      await commit(batch)
      const earlyMs = nextAt - time.now()
      if (batch.length > 1 && earlyMs > 0) await delay(time, earlyMs)
    }
    running = undefined
  }

  async function commit(batch: readonly Pending[]): Promise<void> {
    let found: LookedUpBatch
    try {
      found = await lookUpBatch(readModel, batch)
    } catch (err) {
      log.warn({ err }, 'the read model could not be asked; nothing was written')
      for (const pending of batch) pending.resolve({ is: 'notWritten', cause: err })
      return
    }
    const toAppend: Pending[] = []
    const appendedAt = time.now()
    for (const { pending, entry, checkpoint } of found) {
      if (pending.stage !== 'queued') continue
      if (entry instanceof EntryError) {
        log.warn({ err: entry }, 'an entry of the read model can not be read; nothing was written for its id')
        pending.resolve({ is: 'notWritten', cause: entry })
        continue
      }
      const known = firstClaimOf(
        pending.id,
        { entry, checkpoint },
        claimIndex.window(pending.record.partition),
      )
      if (known.is === 'claimed') pending.resolve({ is: 'first', first: known.first })
      else if (known.is === 'unknown') pending.resolve({ is: 'coverageGap' })
      else {
        pending.checkpoint = checkpoint
        pending.stage = 'appended'
        pending.appendedAt = appendedAt
        toAppend.push(pending)
      }
    }
    await append(toAppend)
  }

  /**
   * Appends until it is acknowledged or nobody waits any more. A record that got into the log by an attempt which
   * failed is there twice then, with the same event id: one creation.
   */
  async function append(batch: readonly Pending[]): Promise<void> {
    for (
      let waiting = batch;
      waiting.length > 0;
      waiting = waiting.filter(({ stage }) => stage === 'appended')
    ) {
      try {
        await appender.append(waiting.map(({ record }) => record))
        return
      } catch (err) {
        log.warn({ err, records: waiting.length }, 'an append was not acknowledged; trying again')
        await delay(time, APPEND_AGAIN_MS)
      }
    }
  }

  return {
    /** Takes a create into the next cycle; false, and nothing happens, when too much waits already, or for too long. */
    submit(pending: Pending): boolean {
      const oldest = queue[0] ?? pending
      if (queuedBytes >= limits.maxQueuedBytes || pending.since - oldest.since >= limits.maxQueueAgeMs)
        return false
      queue.push(pending)
      queuedBytes += bytesOf(pending)
      // A turn later, so that creates which arrive together go together.
      running ??= Promise.resolve().then(run)
      return true
    },

    /** What waits for the next cycle. */
    queued: (): { records: number; bytes: number } => ({ records: queue.length, bytes: queuedBytes }),

    /** Makes room for others when a create no longer waits. */
    withdraw,

    /** Resolves when nothing waits and no append is under way. */
    async drained(): Promise<void> {
      await running
    },
  }
}

function bytesOf({ record }: Pending): number {
  return RECORD_OVERHEAD_BYTES + record.key.length + record.value.length
}

type LookedUpBatch = { pending: Pending; entry: PartitionLookUp['entries'][number]; checkpoint: Offset }[]

/** Asks for all ids of the batch at once; each with the checkpoint of the moment it was looked up. */
export async function lookUpBatch(readModel: LookUp, batch: readonly Pending[]): Promise<LookedUpBatch> {
  const byPartition = new Map<Partition, Pending[]>()
  for (const pending of batch) {
    const others = byPartition.get(pending.record.partition)
    if (others === undefined) byPartition.set(pending.record.partition, [pending])
    else others.push(pending)
  }
  const groups = [...byPartition]
  const answers = await readModel.lookUp(
    groups.map(([partition, group]) => ({ partition, ids: group.map(({ id }) => id) })),
  )
  return groups.flatMap(([, group], index) => {
    const { checkpoint, entries } = answers[index] as PartitionLookUp
    return group.map((pending, at) => ({ pending, entry: entries[at], checkpoint }))
  })
}
