import type { Span } from '@opentelemetry/api'
import { bytesOf } from '@plant-store/shared/event-log/append.ts'
import type { Lanes, Written } from '@plant-store/shared/event-log/lanes.ts'
import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewPlant, type PlantId, plantOf } from '@plant-store/shared/plant/plant.ts'
import {
  type Claim,
  DEFAULT_SOURCE,
  eventHeaders,
  type NewRecord,
  plantCreated,
  type Traceparent,
} from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf, type Verdict, verdict } from '@plant-store/shared/protocol/coverage.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { TransientMap } from '@plant-store/shared/runtime/transient-map.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import { ID_BUCKETS } from '../claim-index/first-claims.ts'
import type { EachLookUp } from '../claim-index/look-up-together.ts'
import type { CreateSpan, CreateTracing } from './create-span.ts'
import { createDeadlines, type Deadline } from './deadline.ts'
import { createLookUps } from './look-ups.ts'

type Failure = { is: 'notWritten' | 'outcomeUnknown' | 'coverageGap'; cause?: unknown }
export type Outcome = { is: Verdict; partition: Partition; offset: Offset } | Failure
/** The end of one attempt to create a plant. */
type Resolution = { is: 'decided'; first: Claim } | Failure

export type CreatePlant = {
  plant: NewPlant
  eventId: EventId
  /** True if the event id comes from an Idempotency-Key: the same event may already be in the log. */
  keyed: boolean
  /** The trace of the request, if any; it goes into the event. */
  traceparent?: Traceparent | undefined
  /** The span of the request, when it is traced. Then the event carries the context of a separate span instead. */
  span?: Span | undefined
}

/** The claim of a create; the log gives it its offset. */
type OwnClaim = Omit<Claim, 'offset'>

export const CREATE_LIMITS = {
  /** Most bytes of the creates in flight. */
  maxQueuedBytes: 16 * 1_048_576,
  maxQueuedRecords: 10_000,
  /**
   * A create that queues behind one that has waited most of its time would hardly be in time. Kafka takes up to 6 s to
   * replace a frozen broker that is the controller, too.
   */
  maxQueueAgeMs: 8_000,
  maxBatchIds: 2_000,
}

/** A look-up or an append takes less, unless the partition cannot be read or written. */
const SLOW_PARTITION_MS = 1_000
/** Between the look-ups of an id whose coverage gap the tail closes. */
const LOOK_UP_AGAIN_MS = 5

export type CreationOptions = {
  log: Log
  time: Time
  deadlineMs: number
  limits?: typeof CREATE_LIMITS
  /** The `ce_source` of the events. */
  source?: string
  /** Set when requests may have spans. */
  tracing?: CreateTracing | undefined
  /** Called for each create that the log has decided, with the time since the start of its append. */
  onVerdict?(waitedMs: number, by: 'acknowledgement' | 'log'): void
}

export type PlantCreation = ReturnType<typeof createPlantCreation>

/**
 * Creates plants by the write protocol: append, then let the log decide which claim was first. An acknowledgement
 * alone decides nothing, and a lost one changes nothing.
 */
export function createPlantCreation(
  readModel: EachLookUp,
  lanes: Lanes,
  claimIndex: ClaimIndex,
  options: CreationOptions,
) {
  const { log, time, deadlineMs, limits = CREATE_LIMITS, source = DEFAULT_SOURCE, tracing, onVerdict } = options
  const sharedHeaders = eventHeaders(source)
  const { maxBatchIds } = limits
  const together = { appendEnded: lanes.requestEnded, others: claimIndex.asked }
  const lookUps = createLookUps(readModel, { time, log, maxBatchIds, ...together })
  /** The attempt for each id that is on its way to the log; other creates of the id wait for it. */
  const owners = new TransientMap<PlantId, Promise<Resolution>>(ID_BUCKETS)
  const deadlines = createDeadlines(time, deadlineMs)
  const queued = { records: 0, bytes: 0 }
  const queuedIn = Array.from({ length: claimIndex.partitions }, () => ({ records: 0, bytes: 0 }))

  function isFull(partition: Partition): boolean {
    const own = queuedIn[partition] as typeof queued
    const waitedMs = Math.max(lookUps.waitedMs(partition), lanes.waitedMs(partition))
    // A partition that cannot be looked up or written leaves room for the others: at most as much as is left free.
    const leavesNoRoom =
      own.bytes >= limits.maxQueuedBytes - queued.bytes || own.records >= limits.maxQueuedRecords - queued.records
    return (
      queued.bytes >= limits.maxQueuedBytes ||
      waitedMs >= limits.maxQueueAgeMs ||
      (waitedMs >= SLOW_PARTITION_MS && leavesNoRoom)
    )
  }

  function count(partition: Partition, records: number, bytes: number): void {
    for (const counts of [queued, queuedIn[partition] as typeof queued]) {
      counts.records += records
      counts.bytes += bytes
    }
  }

  async function create({ plant, eventId, keyed, traceparent, span }: CreatePlant, deadline: Deadline) {
    // Nothing else uses the clock of the machine.
    const context = { sharedHeaders, timeMs: Date.now(), traceparent }
    const record = plantCreated(plant, eventId, claimIndex.partitions, context)
    const { partition } = record
    function verdictOn(first: Claim): Outcome {
      claimIndex.readFloor.raise(partition, first.offset)
      return { is: verdict(eventId, first), partition, offset: first.offset }
    }

    // The owner of a keyed create may be writing the same event as the creates that wait for it.
    const timedOut: Failure = { is: keyed ? 'outcomeUnknown' : 'notWritten' }
    let mayBeWritten = false
    const failed = (failure: Failure): Outcome => (mayBeWritten ? { is: 'outcomeUnknown' } : failure)
    while (true) {
      const claimed = claimIndex.window(partition).firstClaim(plant.id)
      // A random event id is not in the log yet, so an existing claim of the plant id is another create's.
      if (!keyed && claimed !== undefined) return verdictOn(claimed)
      const owner = owners.get(plant.id)
      if (owner === undefined) {
        const resolution = await own({ id: plant.id, eventId, plant: plantOf(plant) }, record, deadline, span)
        return resolution.is === 'decided' ? verdictOn(resolution.first) : failed(resolution)
      }
      // Waits for the first claim, not for the owner's response. If the owner alone fails, starts again.
      const resolution = (await deadline.limit(owner)) ?? timedOut
      if (resolution.is === 'decided') return verdictOn(resolution.first)
      if (deadline.isOver) return timedOut
      if (resolution.is === 'coverageGap') return failed(resolution)
      if (keyed && resolution.is === 'outcomeUnknown') mayBeWritten = true
    }
  }

  /** Makes an attempt that other creates of the id wait for. */
  async function own(claim: OwnClaim, record: NewRecord, deadline: Deadline, request?: Span): Promise<Resolution> {
    const { partition } = record
    if (isFull(partition)) return { is: 'notWritten' }
    const bytes = bytesOf(record)
    count(partition, 1, bytes)
    const span = request && tracing?.start(request, record)
    const attempted = attempt(claim, record, deadline, span)
    owners.set(claim.id, attempted)
    const resolution = await attempted
    owners.delete(claim.id)
    count(partition, -1, -bytes)
    span?.end(resolution.is === 'decided' ? undefined : resolution.is)
    return resolution
  }

  /**
   * One attempt: look up, append, first claim. It ends in one of these ways:
   *
   * | step        | event                                                       | resolution       |
   * |-------------|-------------------------------------------------------------|------------------|
   * | look up     | the first claim of the id is known                          | `decided`        |
   * | look up     | the entry is unreadable, or the deadline passes             | `notWritten`     |
   * | look up     | a coverage gap that the tail cannot close                   | `coverageGap`    |
   * | append      | Kafka refuses the record, and no attempt can have written it | `notWritten`     |
   * | append      | the deadline passes; every attempt was refused, or none made | `notWritten`     |
   * | first claim | the window or the read model has it, acknowledged or not    | `decided`        |
   * | first claim | the deadline passes                                         | `outcomeUnknown` |
   */
  async function attempt(claim: OwnClaim, record: NewRecord, deadline: Deadline, span?: CreateSpan) {
    const { partition } = record
    span?.step('look up plants')
    const absent = await lookUp(partition, claim.id, deadline)
    if (absent.is !== 'absent') return absent

    span?.step('wait for verdict')
    const appendedAt = time.now()
    const { promise, resolve } = deadline.withResolvers<Resolution>()
    const awaited = { id: claim.id, eventId: claim.eventId, partition, checkpoint: absent.checkpoint }
    const firstClaim = claimIndex.wait(awaited, (first) => resolve({ is: 'decided', first }))
    const append = lanes.append(record)
    let by: 'acknowledgement' | 'log' = 'log'
    void append.written.then((written) => {
      if (written.is !== 'appended') resolve(failureOf(written))
      else if (claimIndex.appended(partition, claim, written.offset)) by = 'acknowledgement'
      else firstClaim.undecided()
    })
    const resolution = await promise
    firstClaim.end()
    const known = append.giveUp()
    if (resolution?.is === 'decided') onVerdict?.(time.now() - appendedAt, by)
    return resolution ?? failureOf(known)
  }

  /** Looks up the id, until the read model responds or the deadline passes. */
  async function lookUp(
    partition: Partition,
    id: PlantId,
    deadline: Deadline,
  ): Promise<Resolution | { is: 'absent'; checkpoint: Offset }> {
    for (let isRepeated = false; ; ) {
      const found = await lookUps.find(partition, id, deadline)
      if (found === undefined) return { is: 'notWritten', cause: lookUps.failure(partition) }
      const { entry, checkpoint } = found
      if (entry instanceof EntryError) {
        log.warn({ err: entry }, 'an entry of the read model is unreadable; nothing was written for its id')
        return { is: 'notWritten', cause: entry }
      }
      const known = firstClaimOf(id, { entry, checkpoint }, claimIndex.window(partition))
      if (known.is === 'claimed') return { is: 'decided', first: known.first }
      if (known.is === 'absent') return { is: 'absent', checkpoint }
      // The window may have moved on since the read model responded; then another look-up shows more.
      if (isRepeated) {
        if (!(await closeGap(partition, deadline))) return { is: 'coverageGap' }
        await delay(time, LOOK_UP_AGAIN_MS)
      }
      isRepeated = true
    }
  }

  /** Returns true if the tail closes the gap, and false if it cannot or the read model does not respond. */
  async function closeGap(partition: Partition, deadline: Deadline): Promise<boolean> {
    const isClosing = claimIndex.closeGap(partition).catch(() => false)
    return (await deadline.limit(isClosing)) === true
  }

  return {
    /** Resolves within the deadline. */
    async create(request: CreatePlant): Promise<Outcome> {
      const deadline = deadlines.start()
      try {
        return await create(request, deadline)
      } finally {
        deadlines.end(deadline)
      }
    },

    /** The creates in flight. */
    queued: (): { records: number; bytes: number } => ({ ...queued }),

    /** Shortens all deadlines to at most `ms` from now, also those of creates that start later. */
    endWithin: deadlines.endWithin,

    /** Resolves when every create has its outcome, within its deadline, and the last append has ended. */
    async close(): Promise<void> {
      await deadlines.allEnded()
      await lanes.close()
    },
  }
}

/** The failure of a create without a first claim. */
function failureOf(written: Written): Failure {
  if (written.is === 'notWritten') return { is: 'notWritten', cause: written.cause }
  return { is: 'outcomeUnknown' }
}
