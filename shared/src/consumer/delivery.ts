import { claimsItsId, reasonText } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { Log } from '../runtime/log.ts'
import type { Time } from '../runtime/time.ts'
import type { OpenFirstClaims } from './first-claims/first-claims.ts'
import { type Lot, lotsOf } from './lots.ts'
import type { PlantRecord } from './plant-record.ts'

/**
 * How long one fetch of a partition is handed over before the rest is fetched again: others of the same broker have
 * nothing fetched meanwhile, and a group that changes waits for it.
 */
const HAND_OVER_MS = 2_000

/**
 * Where a partition stands in this process, whoever it is assigned to: what was delivered of it, up to where records
 * may be taken in without a gap, and the highest checkpoint that its log has to hold.
 */
type Standing = {
  delivered: Checkpoint | undefined
  taken: Checkpoint | undefined
  highest: Checkpoint | undefined
  turn: Promise<unknown>
}

export type DeliveryOptions = {
  firstClaims: OpenFirstClaims
  /** Where the group goes on. */
  startOf(partition: Partition): Promise<Checkpoint>
  handOver(partition: Partition, lot: Lot): Promise<void>
  lots: { maxEvents: number; giveParked: boolean }
  /** Whether a handler may be called for this partition now. */
  mayGoOn(partition: Partition): boolean
  time: Time
  log: Log
}

/**
 * Delivers the creations of a log to handlers: an sink of a follower. The log is read from where the first claims
 * are known up to, or from what was delivered, whichever is lower; what was delivered is handed over no more.
 */
export function createDelivery(options: DeliveryOptions) {
  const { firstClaims, startOf, handOver, lots, mayGoOn, time, log } = options
  const standings = new Map<Partition, Standing>()

  function standingOf(partition: Partition): Standing {
    const found = standings.get(partition)
    if (found !== undefined) return found
    const made = { delivered: undefined, taken: undefined, highest: undefined, turn: Promise.resolve() }
    standings.set(partition, made)
    return made
  }

  /** What is delivered stays so, whatever another assignment of the partition still does. */
  function reach(standing: Standing, checkpoint: Checkpoint): Checkpoint {
    const { delivered } = standing
    standing.delivered = delivered && delivered.offset >= checkpoint.offset ? delivered : checkpoint
    return standing.delivered
  }

  async function take(
    partition: Partition,
    standing: Standing,
    records: PlantRecord[],
    next: Checkpoint,
    from: Checkpoint,
  ): Promise<Checkpoint> {
    // The log has shown what it was asked for from there; or another assignment of the partition is still at work.
    if (standing.taken !== undefined && from.offset > standing.taken.offset) return standing.taken
    const creations = new Set(await firstClaims.firstAmong(partition, records, next))
    const begun = standing.delivered as Checkpoint
    const due = records.filter(({ offset }) => offset > begun.offset)
    const until = time.now() + HAND_OVER_MS
    // Not what was delivered: another member may have delivered more by now, of which no claims are known here.
    let reached = from
    try {
      for (const lot of lotsOf(due, partition, (record) => creations.has(record), lots)) {
        const isLate = reached !== from && time.now() > until
        if (isLate || !mayGoOn(partition)) {
          standing.taken = reached
          return reached
        }
        await handOver(partition, lot)
        reached = lot.checkpoint
        reach(standing, reached)
      }
      reach(standing, next)
      standing.taken = next
      return next
    } finally {
      const passed = standing.delivered as Checkpoint
      if (!lots.giveParked) {
        tellParked(
          partition,
          due.filter(({ offset }) => offset <= passed.offset),
        )
      }
    }
  }

  function tellParked(partition: Partition, records: readonly PlantRecord[]): void {
    const parked = records.flatMap(({ offset, parked: reason }) =>
      reason === undefined ? [] : [{ offset, reason }],
    )
    const [first] = parked
    if (first === undefined) return
    const unreadable = parked.filter(({ reason }) => claimsItsId(reason)).length
    const details = { partition, offset: first.offset, parked: parked.length, unreadable }
    log.warn(
      details,
      `records are no events of plants, or can't be read; the first: ${reasonText(first.reason)}`,
    )
  }

  return {
    async checkpointOf(partition: Partition): Promise<Checkpoint> {
      const standing = standingOf(partition)
      const delivered = reach(standing, await startOf(partition))
      const known = (await firstClaims.checkpointOf(partition)) ?? delivered
      const [low, high] = known.offset < delivered.offset ? [known, delivered] : [delivered, known]
      standing.highest = high
      standing.taken = low
      // Both have to be of this log before anything is taken in. What has no event can't be proved; its bounds can.
      return high.eventId === '' ? low : high
    },

    /** One call at a time for each partition, over all its assignments: a handler never overlaps with itself. */
    onRecords(
      partition: Partition,
      records: PlantRecord[],
      next: Checkpoint,
      from: Checkpoint,
    ): Promise<Checkpoint> {
      const standing = standingOf(partition)
      const taken = standing.turn.then(() => take(partition, standing, records, next, from))
      standing.turn = taken.catch(() => {})
      return taken
    },

    /** What was delivered of a partition; undefined while that is not known. */
    deliveredOf: (partition: Partition): Checkpoint | undefined => standings.get(partition)?.delivered,

    /** What the log has to hold: of each partition the highest checkpoint that was delivered, or is known of. */
    passed(): Map<Partition, Checkpoint> {
      const passed = new Map<Partition, Checkpoint>()
      for (const [partition, { delivered, highest }] of standings) {
        const known = delivered && highest ? higherOf(delivered, highest) : (delivered ?? highest)
        if (known !== undefined) passed.set(partition, known)
      }
      return passed
    },

    /** Resolves when the calls under way have ended. */
    async idle(): Promise<void> {
      await Promise.all([...standings.values()].map(({ turn }) => turn))
    },
  }
}

const higherOf = (a: Checkpoint, b: Checkpoint): Checkpoint => (a.offset > b.offset ? a : b)
