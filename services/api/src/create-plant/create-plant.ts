import type { Span } from '@opentelemetry/api'
import type { Appender } from '@plant-store/shared/event-log/append.ts'
import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewPlant, type PlantId, plantOf } from '@plant-store/shared/plant/plant.ts'
import { type Claim, type NewRecord, plantCreated, type Traceparent } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { type Verdict, verdict } from '@plant-store/shared/protocol/coverage.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { TransientMap } from '@plant-store/shared/runtime/transient-map.ts'
import type { ClaimIndex, OwnClaim } from '../claim-index/claim-index.ts'
import { CYCLE_LIMITS, createCommitCycle, lookUpBatch } from './commit-cycle.ts'
import type { CreateTracing } from './create-span.ts'
import { PendingCreate, type PendingCreateContext, type Resolution } from './pending-create.ts'

type Failure = { is: 'notWritten' | 'outcomeUnknown' | 'coverageGap'; cause?: unknown }
export type Outcome = { is: Verdict; partition: Partition; offset: Offset } | Failure

export type CreatePlant = {
  plant: NewPlant
  eventId: EventId
  /** Whether the event id comes from an Idempotency-Key. Then the same event may already be in the log. */
  keyed: boolean
  /** The trace of the request, if any; it goes into the event. */
  traceparent?: Traceparent | undefined
  /** The span of the request, when it is traced. Then the event carries the context of its own span instead. */
  span?: Span | undefined
}

const READ_ENTRIES_EVERY_MS = 250

export type CreationOptions = {
  log: Log
  time: Time
  deadlineMs: number
  limits?: typeof CYCLE_LIMITS
  /** Set when requests may have spans. */
  tracing?: CreateTracing | undefined
  /** Called for each create that the log has decided, with the time since the start of its append. */
  onVerdict?(waitedMs: number): void
  onHalt(error: Error): void
}

export type PlantCreation = ReturnType<typeof createPlantCreation>

/**
 * Creates plants by the write protocol: append, then let the log decide which claim was first. An acknowledgement
 * alone decides nothing, and a lost one changes nothing.
 */
export function createPlantCreation(
  readModel: Pick<ReadModel, 'lookUp'>,
  appender: Pick<Appender, 'append'>,
  claimIndex: ClaimIndex,
  { log, time, deadlineMs, limits = CYCLE_LIMITS, tracing, onVerdict, onHalt }: CreationOptions,
) {
  const cycle = createCommitCycle(readModel, appender, claimIndex, { log, time, limits, tracing })
  /** The create of each id that is on its way to the log; others with the same id wait for it. */
  const owners = new TransientMap<PlantId, PendingCreate>()
  let inFlight = 0
  let closing: PromiseWithResolvers<void> | undefined
  let shutdownAt = Number.POSITIVE_INFINITY

  const context: PendingCreateContext = {
    time,
    onResolved(pending, from, resolution) {
      owners.delete(pending.id)
      if (from === 'queued') cycle.remove(pending)
      else if (resolution.is === 'decided') onVerdict?.(time.now() - pending.appendedAt)
    },
  }

  claimIndex.onFirstClaim((partition, { id, eventId }) => {
    const owner = owners.get(id)
    owner?.firstClaimSeen(claimIndex.window(partition))
    return owner?.claim.eventId === eventId
  })

  /** Reads the entries of the creates that their windows no longer decide, until each has one. */
  async function readEntries(): Promise<void> {
    const uncovered = owners.values().filter((pending) => pending.needsEntry(claimIndex.window(pending.partition)))
    if (uncovered.length === 0) return
    for (const { pending, entry } of await lookUpBatch(readModel, uncovered)) {
      if (entry instanceof EntryError) continue
      if (entry !== undefined) pending.entryFound(entry)
    }
  }
  const entryReads = repeat({
    time,
    everyMs: READ_ENTRIES_EVERY_MS,
    task: readEntries,
    what: 'reading the entries of pending creates',
    log,
    onHalt,
  })

  /** Starts the create that owns this id until it is resolved. */
  function start(claim: OwnClaim['claim'], record: NewRecord, remainingMs: number, request?: Span): PendingCreate {
    const span = request && tracing?.start(request, record)
    const pending = new PendingCreate(claim, record, remainingMs, context, span)
    owners.set(claim.id, pending)
    if (!cycle.submit(pending)) pending.queueFull()
    return pending
  }

  async function decide({ plant, eventId, keyed, traceparent, span }: CreatePlant): Promise<Outcome> {
    const deadline = time.now() + deadlineMs
    const remainingMs = () => Math.min(deadline, shutdownAt) - time.now()
    const record = plantCreated(plant, eventId, claimIndex.partitions, traceparent)
    const { partition } = record

    function verdictOn(first: Claim): Outcome {
      claimIndex.readFloor.raise(partition, first.offset)
      return { is: verdict(eventId, first), partition, offset: first.offset }
    }

    // The owner of a keyed create may be writing the same event as the creates that wait for it.
    const timedOut = keyed ? 'outcomeUnknown' : 'notWritten'
    let mayBeWritten = false
    const failed = (failure: Failure): Outcome => (mayBeWritten ? { is: 'outcomeUnknown' } : failure)
    while (true) {
      const claimed = claimIndex.window(partition).firstClaim(plant.id)
      // A random event id is not in the log yet, so an existing claim of the plant id is another create's.
      if (!keyed && claimed !== undefined) return verdictOn(claimed)
      const owner = owners.get(plant.id)
      if (owner === undefined) {
        const claim = { id: plant.id, eventId, plant: plantOf(plant) }
        const resolution = await start(claim, record, remainingMs(), span).resolution
        return resolution.is === 'decided' ? verdictOn(resolution.first) : failed(resolution)
      }
      // Waits for the first claim, not for the owner's response. If the owner alone fails, starts again.
      const resolution = await withTimeout<Resolution>(time, remainingMs(), owner.resolution, {
        is: timedOut,
      })
      if (resolution.is === 'decided') return verdictOn(resolution.first)
      if (remainingMs() <= 0) return { is: timedOut }
      if (resolution.is === 'coverageGap') return failed(resolution)
      if (keyed && resolution.is === 'outcomeUnknown') mayBeWritten = true
    }
  }

  function resolveClosing(): void {
    if (inFlight === 0) closing?.resolve()
  }

  return {
    /** Resolves within the deadline. */
    async create(create: CreatePlant): Promise<Outcome> {
      inFlight++
      try {
        return await decide(create)
      } finally {
        inFlight--
        resolveClosing()
      }
    },

    /** The creates that wait for the next commit cycle. */
    queued: cycle.queued,

    /** Why creates wait for Kafka in vain. */
    problems: cycle.problems,

    /** Shortens all deadlines to at most `ms` from now, also those of creates that start later. */
    endWithin(ms: number): void {
      shutdownAt = time.now() + ms
      time.after(ms, () => {
        for (const pending of owners.values()) pending.deadlinePassed()
      })
    },

    /** Resolves when every create has its outcome, within its deadline, and the last append has ended. */
    async close(): Promise<void> {
      closing ??= Promise.withResolvers()
      resolveClosing()
      await closing.promise
      await cycle.drained()
      await entryReads.close()
    },
  }
}

/** The value of the promise, or `timedOut` after `ms`. */
async function withTimeout<T>(time: Time, ms: number, promise: Promise<T>, timedOut: T): Promise<T> {
  const { promise: timeout, resolve } = Promise.withResolvers<T>()
  const cancel = time.after(ms, () => resolve(timedOut))
  try {
    return await Promise.race([promise, timeout])
  } finally {
    cancel()
  }
}
