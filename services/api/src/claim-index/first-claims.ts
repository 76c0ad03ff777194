import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf, type WindowReader } from '@plant-store/shared/protocol/coverage.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { TransientMap } from '@plant-store/shared/runtime/transient-map.ts'
import { type Applied, type EachLookUp, type Found, type LookUp, lookUpTogether } from './look-up-together.ts'

/** The claim of a create; the log gives it its offset. */
export type OwnClaim = Omit<Claim, 'offset'>

/** A create that waits for the first claim of its id, which is unclaimed in what the read model has applied. */
export type Awaited = OwnClaim & Applied & { partition: Partition }

/** The buckets of a map with the ids of creates in flight: about as many as these under the highest load. */
export const ID_BUCKETS = 2 ** 14

export const FIRST_CLAIM_WAITS = {
  checkEveryMs: 5,
  lookUpEveryMs: 10,
  lookUpMaxIds: 500,
  lookUpRetryMs: 50,
  slowMs: 100,
}
/**
 * The time between two look-ups for a create, of the time that it has waited: thousands may wait for seconds, and must
 * not slow down the others.
 */
const LOOK_UP_AFTER = 1 / 8

export type FirstClaimsOptions = {
  readModel: EachLookUp
  window(partition: Partition): WindowReader
  time: Time
  waits?: typeof FIRST_CLAIM_WAITS
  /** Called repeatedly while a create has waited for longer than `slowMs`. */
  onSlow(): void
  /** False while the tail soon delivers what is appended. */
  readModelDecides(): boolean
}

/** The part of a partition that is applied, and the creates whose append is acknowledged and not applied yet. */
type Progress = { applied: Applied; unapplied: Set<Waiting> }

type Waiting = Awaited & {
  since: number
  /** Known when the append is acknowledged. */
  offset?: Offset
  /** The time of its next look-up, if the read model is asked for it. */
  lookUpAt: number
  hasEnded: boolean
  decided(first: Claim): void
}

/**
 * The creates that wait for the first claim of their id, at most one per id. Whichever source is first decides: the
 * window, which reports each of its claims here, or the read model, for the creates that the window does not decide.
 *
 * Each look-up in a partition decides all creates there whose append it has applied, if each offset since their own
 * look-up has created a plant: then so has theirs. So one id of each partition is asked for, together with those of new
 * creates, and after 10 ms without such a look-up. After an offset that created none, each id is asked for.
 */
export function createFirstClaims(options: FirstClaimsOptions) {
  const { readModel, window, time, waits = FIRST_CLAIM_WAITS, onSlow, readModelDecides } = options
  const waiting = new TransientMap<PlantId, Waiting>(ID_BUCKETS)
  const progress = new Map<Partition, Progress>()
  /** Those whose entry the read model is asked for. */
  const askedFor = new Set<Waiting>()
  let isRunning = false

  function end(each: Waiting): void {
    if (each.hasEnded) return
    each.hasEnded = true
    waiting.delete(each.id)
    askedFor.delete(each)
    progress.get(each.partition)?.unapplied.delete(each)
  }

  function seeApplied(partition: Partition, applied: Applied): Progress {
    const known = progress.get(partition) ?? { applied, unapplied: new Set() }
    progress.set(partition, known)
    if (applied.checkpoint > known.applied.checkpoint) {
      known.applied = applied
      for (const each of known.unapplied) decideApplied(each, known)
    }
    return known
  }

  function decideApplied(each: Waiting, { applied, unapplied }: Progress): void {
    const { id, eventId, plant, offset } = each
    if (offset === undefined || offset > applied.checkpoint) return
    if (applied.withoutPlant === each.withoutPlant) {
      end(each)
      each.decided({ offset, id, eventId, plant })
    } else {
      unapplied.delete(each)
      askedFor.add(each)
    }
  }

  async function run(): Promise<void> {
    isRunning = true
    let lookedForSlowAt = time.now()
    while (waiting.size > 0) {
      await delay(time, waits.checkEveryMs)
      if (time.now() - lookedForSlowAt >= waits.slowMs) {
        lookedForSlowAt = time.now()
        askForSlow()
      }
      const due = askedUntil(time.now() - waits.lookUpEveryMs, waits.lookUpMaxIds)
      // Not awaited: a partition whose part of Redis hangs delays no other.
      if (due.length > 0) void lookUpTogether(readModel, due)
    }
    isRunning = false
  }

  /** An acknowledgement may be late, or the window may have moved on. */
  function askForSlow(): void {
    const slow = waiting.values().filter(({ since }) => time.now() - since >= waits.slowMs)
    // Sorted, so that a schedule of the simulation can be repeated: the order of the map differs between processes.
    const added = slow.filter((each) => !askedFor.has(each)).sort((a, b) => a.since - b.since || Number(a.id - b.id))
    for (const each of added) askedFor.add(each)
    if (slow.length > 0) onSlow()
  }

  /** The look-ups of up to `max` of the creates that the window does not decide and whose time has come by `until`. */
  function askedUntil(until: number, max: number, isWanted: (partition: Partition) => boolean = () => true): LookUp[] {
    return candidates()
      .filter(({ lookUpAt, partition }) => lookUpAt <= until && isWanted(partition))
      .take(max)
      .map(lookUpOf)
      .toArray()
  }

  function* candidates() {
    yield* askedFor
    for (const { unapplied } of progress.values()) if (unapplied.size > 0) yield* unapplied.values().take(1)
  }

  function lookUpOf(each: Waiting): LookUp {
    each.lookUpAt = Number.POSITIVE_INFINITY
    return {
      ...{ partition: each.partition, id: each.id },
      found(found) {
        const now = time.now()
        each.lookUpAt = now + LOOK_UP_AFTER * (now - each.since)
        seeApplied(each.partition, found)
        answer(each, found)
      },
      failed() {
        each.lookUpAt = time.now() + waits.lookUpRetryMs
        onSlow()
      },
    }
  }

  function answer(each: Waiting, { entry, checkpoint }: Found): void {
    if (each.hasEnded || entry instanceof EntryError) return
    // Without an entry the id has no claim up to this checkpoint either.
    if (checkpoint > each.checkpoint) each.checkpoint = checkpoint
    look(each, entry)
  }

  function look(each: Waiting, entry?: Claim): void {
    // A window that has moved on since the look-up may have dropped the first claim, and hold a later one.
    const known = firstClaimOf(each.id, { entry, checkpoint: each.checkpoint }, window(each.partition))
    if (known.is !== 'claimed') return
    end(each)
    each.decided(known.first)
  }

  return {
    /**
     * Calls `decided` with the first claim of an id. Call `undecided` when the record is in the log, at this offset if
     * it is known, and the window has not decided, and `end` when the claim is no longer waited for.
     */
    wait(awaited: Awaited, decided: (first: Claim) => void): { undecided(offset?: Offset): void; end(): void } {
      const since = time.now()
      const each: Waiting = { ...awaited, since, lookUpAt: since, hasEnded: false, decided }
      waiting.set(awaited.id, each)
      const known = seeApplied(awaited.partition, awaited)
      if (!isRunning) void run()
      return {
        undecided(offset) {
          if (each.hasEnded || !readModelDecides()) return
          each.lookUpAt = time.now()
          if (offset === undefined) return void askedFor.add(each)
          each.offset = offset
          known.unapplied.add(each)
          decideApplied(each, known)
        },
        end: () => end(each),
      }
    },

    /** The look-ups of up to `max` of the creates whose time has come, of such partitions. */
    asked: (max: number, isWanted: (partition: Partition) => boolean) => askedUntil(time.now(), max, isWanted),

    /** Takes a claim that was added to the window. Returns whether it is the event of a create that waits. */
    seen({ id, eventId }: Claim): boolean {
      const each = waiting.get(id)
      if (each === undefined) return false
      look(each)
      return each.eventId === eventId
    },
  }
}
