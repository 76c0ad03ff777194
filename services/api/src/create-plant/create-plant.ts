import type { Appender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { NewPlant, PlantId } from '@plant-store/shared/plant/plant.ts'
import {
  type Claim,
  type NewRecord,
  plantCreated,
  type Traceparent,
} from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import {
  decideByWindow,
  type Verdict,
  verdict,
  type WindowDecision,
} from '@plant-store/shared/protocol/coverage.ts'
import { EntryError } from '@plant-store/shared/read-model/entry.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { TransientMap } from '@plant-store/shared/runtime/transient-map.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import {
  CYCLE_LIMITS,
  createCommitCycle,
  lookUpBatch,
  type Pending,
  type Resolution,
} from './commit-cycle.ts'

export type Outcome =
  | { is: Verdict; partition: Partition; offset: Offset }
  | { is: 'notWritten' | 'outcomeUnknown' | 'coverageGap'; cause?: unknown }

export type CreatePlant = {
  plant: NewPlant
  eventId: EventId
  /** Whether the event id comes from an Idempotency-Key: then the same event may be in the log already. */
  keyed: boolean
  /** The trace that the request belongs to, if any; goes into the event. */
  traceparent?: Traceparent | undefined
}

const ASK_READ_MODEL_EVERY_MS = 250

export type CreationOptions = {
  log: Log
  time: Time
  deadlineMs: number
  limits?: typeof CYCLE_LIMITS
  /** Told of each create that the log has decided how long that took from the begin of its append. */
  onVerdict?(waitedMs: number): void
  onHalt(error: Error): void
}

export type PlantCreation = ReturnType<typeof createPlantCreation>

type InFlight = { pending: Pending; resolution: Promise<Resolution> }

/**
 * Creates plants by the write protocol: append, then let the log judge who was first. An
 * acknowledgement decides nothing, and a lost one changes nothing.
 */
export function createPlantCreation(
  readModel: Pick<ReadModel, 'lookUp'>,
  appender: Pick<Appender, 'append'>,
  claimIndex: ClaimIndex,
  { log, time, deadlineMs, limits = CYCLE_LIMITS, onVerdict, onHalt }: CreationOptions,
) {
  const cycle = createCommitCycle(readModel, appender, claimIndex, { log, time, limits })
  /** Those that others with the same id wait for. */
  const inFlight = new TransientMap<PlantId, InFlight>()
  let underWay = 0
  let closing: PromiseWithResolvers<void> | undefined
  let lastAnswerAt = Number.POSITIVE_INFINITY

  claimIndex.listen((_partition, { id }) => {
    const pending = inFlight.get(id)?.pending
    if (pending?.stage !== 'appended') return
    const known = judge(pending)
    if (known.is === 'decided') pending.resolve({ is: 'first', first: known.first })
  })

  function judge({ id, checkpoint, record }: Pending): WindowDecision {
    return decideByWindow(id, checkpoint, claimIndex.window(record.partition))
  }

  function giveUp(pending: Pending): void {
    pending.resolve({ is: pending.stage === 'queued' ? 'notWritten' : 'outcomeUnknown' })
  }

  /** Those whose window moved on are decided by the read model's entry alone, asked for until it is there. */
  async function askReadModel(): Promise<void> {
    const movedOn = inFlight
      .values()
      .map(({ pending }) => pending)
      .filter((pending) => pending.stage === 'appended' && judge(pending).is === 'notCovered')
    if (movedOn.length === 0) return
    for (const { pending, entry } of await lookUpBatch(readModel, movedOn)) {
      if (entry instanceof EntryError) continue
      if (entry !== undefined) pending.resolve({ is: 'first', first: entry })
    }
  }
  const asking = repeat({
    ...{ time, everyMs: ASK_READ_MODEL_EVERY_MS, task: askReadModel, log, onHalt },
    what: 'asking the read model for verdicts',
  })

  /** Brings this create through the cycle; others with its id wait for it meanwhile. */
  async function lead(id: PlantId, record: NewRecord, remainingMs: number): Promise<Resolution> {
    const { promise, resolve } = Promise.withResolvers<Resolution>()
    const pending: Pending = {
      id,
      record,
      stage: 'queued',
      checkpoint: BEFORE_FIRST,
      since: time.now(),
      appendedAt: 0,
      resolve(resolution) {
        if (pending.stage === 'resolved') return
        if (pending.stage === 'appended' && resolution.is === 'first')
          onVerdict?.(time.now() - pending.appendedAt)
        if (pending.stage === 'queued') cycle.withdraw(pending)
        pending.stage = 'resolved'
        inFlight.delete(id)
        takeBackDeadline()
        resolve(resolution)
      },
    }
    const takeBackDeadline = time.after(remainingMs, () => giveUp(pending))
    inFlight.set(id, { pending, resolution: promise })
    if (!cycle.submit(pending)) pending.resolve({ is: 'notWritten' })
    return promise
  }

  async function decide({ plant, eventId, keyed, traceparent }: CreatePlant): Promise<Outcome> {
    const deadline = time.now() + deadlineMs
    const remainingMs = () => Math.min(deadline, lastAnswerAt) - time.now()
    const record = plantCreated(plant, eventId, claimIndex.partitions, traceparent)
    const { partition } = record

    function told(first: Claim): Outcome {
      claimIndex.readFloor.raise(partition, first.offset)
      return { is: verdict(eventId, first), partition, offset: first.offset }
    }

    // The leader of a keyed create may be writing the very event of those who wait for it.
    const late = keyed ? 'outcomeUnknown' : 'notWritten'
    let mayBeWritten = false
    while (true) {
      const held = claimIndex.window(partition).firstClaim(plant.id)
      // Nobody else can have drawn this event id, so any claim of the id is another's.
      if (!keyed && held !== undefined) return told(held)
      const leader = inFlight.get(plant.id)
      if (leader === undefined) {
        const resolution = await lead(plant.id, record, remainingMs())
        if (resolution.is === 'first') return told(resolution.first)
        return resolution.is === 'notWritten' && mayBeWritten ? { is: 'outcomeUnknown' } : resolution
      }
      // Waits for the winner, not for the leader's answer; a leader's failure is its own: begin again then.
      const resolution = await within<Resolution>(time, remainingMs(), leader.resolution, { is: late })
      if (resolution.is === 'first') return told(resolution.first)
      if (remainingMs() <= 0) return { is: late }
      if (keyed && resolution.is === 'outcomeUnknown') mayBeWritten = true
    }
  }

  function noteAnswered(): void {
    if (underWay === 0) closing?.resolve()
  }

  return {
    /** Answers within the deadline. */
    async create(create: CreatePlant): Promise<Outcome> {
      underWay++
      try {
        return await decide(create)
      } finally {
        underWay--
        noteAnswered()
      }
    },

    /** What waits to be appended. */
    queued: cycle.queued,

    /** Brings every deadline forward: whatever is still under way in `ms` is answered that it is not known. */
    endWithin(ms: number): void {
      lastAnswerAt = time.now() + ms
      time.after(ms, () => {
        for (const { pending } of inFlight.values()) giveUp(pending)
      })
    },

    /** Resolves when each create taken in was answered; each of them is, within its deadline. */
    async close(): Promise<void> {
      closing ??= Promise.withResolvers()
      noteAnswered()
      await closing.promise
      await cycle.drained()
      await asking.close()
    },
  }
}

/** What the promise resolves to, or `late` when that takes longer than `ms`. */
async function within<T>(time: Time, ms: number, promise: Promise<T>, late: T): Promise<T> {
  const { promise: timeUp, resolve } = Promise.withResolvers<T>()
  const takeBack = time.after(ms, () => resolve(late))
  try {
    return await Promise.race([promise, timeUp])
  } finally {
    takeBack()
  }
}
