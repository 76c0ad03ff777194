import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf, hasCoverageGap, type WindowReader } from '@plant-store/shared/protocol/coverage.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { OwnClaim } from '../claim-index/claim-index.ts'
import type { CreateSpan } from './create-span.ts'

/**
 * `queued`: certainly not in the log. `appended`: sent to Kafka for the first time. `uncertain`: an attempt to append
 * it has ended without an outcome, so that only the log decides. `resolved`: has a resolution.
 */
type State = 'queued' | 'appended' | 'uncertain' | 'resolved'

/** The result of one append attempt: the first claim of the id, or one of three reasons why it is not known. */
export type Resolution =
  | { is: 'decided'; first: Claim }
  | { is: 'notWritten'; cause?: unknown }
  | { is: 'outcomeUnknown' }
  | { is: 'coverageGap' }

export type PendingCreateContext = {
  time: Time
  /** Called once per create, when it leaves the state `from` for `resolved`. */
  onResolved(pending: PendingCreate, from: State, resolution: Resolution): void
}

/**
 * The state machine of one create. The methods are its events; all transitions are here. The commit cycle delivers the
 * look-ups, the claim index the first claims, a timer and the shutdown the deadline.
 *
 * | state               | event                                               | next state | resolution       |
 * |---------------------|-----------------------------------------------------|------------|------------------|
 * | queued              | `queueFull`, `entryUnreadable`                      | resolved   | `notWritten`     |
 * | queued              | `lookUpFailed`: it is tried again                   | queued     |                  |
 * | queued              | `lookedUp`: the first claim of the id is known      | resolved   | `decided`        |
 * | queued              | `lookedUp`: coverage gap                            | resolved   | `coverageGap`    |
 * | queued              | `lookedUp`: the id is absent                        | appended   |                  |
 * | queued              | `deadlinePassed`                                    | resolved   | `notWritten`     |
 * | appended            | `appendRefused`: Kafka wrote nothing of the attempt | resolved   | `notWritten`     |
 * | appended            | `appendFailed`: the attempt may be in the log       | uncertain  |                  |
 * | appended, uncertain | `firstClaimSeen` in a window back to the look-up    | resolved   | `decided`        |
 * | appended, uncertain | `entryFound` in the read model                      | resolved   | `decided`        |
 * | appended, uncertain | `deadlinePassed`                                    | resolved   | `outcomeUnknown` |
 *
 * Every other event changes nothing: a refusal after an attempt without an outcome says nothing about that attempt. An
 * acknowledgement of the append is not an event: it may add the claim to the window, and then the window decides.
 */
export class PendingCreate {
  readonly claim: OwnClaim['claim']
  readonly record: NewRecord
  readonly resolution: Promise<Resolution>
  /** Set when its request is traced. */
  readonly span: CreateSpan | undefined
  /** When it was submitted, and when its append started, in `time`. */
  readonly submittedAt: number
  appendedAt = 0
  state: State = 'queued'
  /** Why the last look-up failed. */
  private lookUpError: unknown
  /** C of the look-up that found no entry. */
  private checkpoint: Offset = BEFORE_FIRST
  private readonly context: PendingCreateContext
  private readonly settle: (resolution: Resolution) => void
  private readonly cancelDeadline: () => void

  constructor(
    claim: OwnClaim['claim'],
    record: NewRecord,
    remainingMs: number,
    context: PendingCreateContext,
    span?: CreateSpan,
  ) {
    const { promise, resolve } = Promise.withResolvers<Resolution>()
    this.claim = claim
    this.record = record
    this.resolution = promise
    this.submittedAt = context.time.now()
    this.context = context
    this.span = span
    span?.step('wait for cycle')
    this.settle = resolve
    this.cancelDeadline = context.time.after(remainingMs, () => this.deadlinePassed())
  }

  get id(): PlantId {
    return this.claim.id
  }

  get partition(): Partition {
    return this.record.partition
  }

  queueFull(): void {
    if (this.state === 'queued') this.resolve({ is: 'notWritten' })
  }

  /** It is in the batch of the cycle that starts. */
  cycleStarted(): void {
    this.span?.step('look up plants')
  }

  /** Redis did not respond. */
  lookUpFailed(error: unknown): void {
    this.lookUpError = error
  }

  entryUnreadable(cause: unknown): void {
    if (this.state === 'queued') this.resolve({ is: 'notWritten', cause })
  }

  /** Whether it was sent to Kafka and is not resolved. */
  get isAppended(): boolean {
    return this.state === 'appended' || this.state === 'uncertain'
  }

  /** `window` as it is after the look-up. If it is appended afterwards, the caller must append the record. */
  lookedUp(entry: Claim | undefined, checkpoint: Offset, window: WindowReader, now: number): void {
    if (this.state !== 'queued') return
    const known = firstClaimOf(this.id, { entry, checkpoint }, window)
    if (known.is === 'claimed') this.resolve({ is: 'decided', first: known.first })
    else if (known.is === 'unknown') this.resolve({ is: 'coverageGap' })
    else {
      this.checkpoint = checkpoint
      this.appendedAt = now
      this.state = 'appended'
      this.span?.step('wait for verdict')
    }
  }

  appendRefused(cause: unknown): void {
    if (this.state === 'appended') this.resolve({ is: 'notWritten', cause })
  }

  appendFailed(): void {
    if (this.state === 'appended') this.state = 'uncertain'
  }

  /** The first claim of this id was added to the window. */
  firstClaimSeen(window: WindowReader): void {
    if (!this.isAppended) return
    // A window that has moved on since the look-up may have dropped the first claim, and hold a later one.
    const seen = firstClaimOf(this.id, { entry: undefined, checkpoint: this.checkpoint }, window)
    if (seen.is === 'claimed') this.resolve({ is: 'decided', first: seen.first })
  }

  /** Whether the window has moved on, so that only an entry of the read model can decide. */
  needsEntry(window: WindowReader): boolean {
    return this.isAppended && hasCoverageGap(window, this.checkpoint)
  }

  entryFound(first: Claim): void {
    if (this.isAppended) this.resolve({ is: 'decided', first })
  }

  /** Its own deadline, or the end of the process. */
  deadlinePassed(): void {
    if (this.state === 'queued') this.resolve({ is: 'notWritten', cause: this.lookUpError })
    if (this.isAppended) this.resolve({ is: 'outcomeUnknown' })
  }

  private resolve(resolution: Resolution): void {
    const from = this.state
    this.state = 'resolved'
    this.cancelDeadline()
    this.context.onResolved(this, from, resolution)
    this.span?.end(resolution.is === 'decided' ? undefined : resolution.is)
    this.settle(resolution)
  }
}
