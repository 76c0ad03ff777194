import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf, type WindowReader } from '@plant-store/shared/protocol/coverage.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { TransientMap } from '@plant-store/shared/runtime/transient-map.ts'
import { type EachLookUp, type Found, type LookUp, lookUpTogether } from './look-up-together.ts'

/** A create that waits for the first claim of its id. */
export type Awaited = { id: PlantId; eventId: EventId; partition: Partition; checkpoint: Offset }

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

type Waiting = Awaited & {
  since: number
  /** The time of its next look-up, if the read model is asked for it. */
  lookUpAt: number
  hasEnded: boolean
  decided(first: Claim): void
}

/**
 * The creates that wait for the first claim of their id, at most one per id. Whichever source is first decides: the
 * window, which reports each of its claims here, or the read model, which is asked for the creates that the window does
 * not decide: together with the ids of new creates, and after 10 ms without such a look-up.
 */
export function createFirstClaims(options: FirstClaimsOptions) {
  const { readModel, window, time, waits = FIRST_CLAIM_WAITS, onSlow, readModelDecides } = options
  const waiting = new TransientMap<PlantId, Waiting>(ID_BUCKETS)
  /** Those that the read model is asked for. */
  const askedFor = new Set<Waiting>()
  let isRunning = false

  function end(each: Waiting): void {
    if (each.hasEnded) return
    each.hasEnded = true
    waiting.delete(each.id)
    askedFor.delete(each)
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
    return askedFor
      .values()
      .filter(({ lookUpAt, partition }) => lookUpAt <= until && isWanted(partition))
      .take(max)
      .map(lookUpOf)
      .toArray()
  }

  function lookUpOf(each: Waiting): LookUp {
    each.lookUpAt = Number.POSITIVE_INFINITY
    return {
      ...{ partition: each.partition, id: each.id },
      found(found) {
        const now = time.now()
        each.lookUpAt = now + LOOK_UP_AFTER * (now - each.since)
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
     * Calls `decided` with the first claim of an id that is unclaimed up to `checkpoint`. Call `undecided` when the
     * record is in the log and the window has not decided, and `end` when the claim is no longer waited for.
     */
    wait(awaited: Awaited, decided: (first: Claim) => void): { undecided(): void; end(): void } {
      const since = time.now()
      const each = { ...awaited, since, lookUpAt: since, hasEnded: false, decided }
      waiting.set(awaited.id, each)
      if (!isRunning) void run()
      return {
        undecided: () => {
          if (each.hasEnded || !readModelDecides()) return
          each.lookUpAt = time.now()
          askedFor.add(each)
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
