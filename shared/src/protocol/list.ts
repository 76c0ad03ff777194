import { after, type Offset } from '../plant/offset.ts'
import type { Claim } from '../plant/plant-created.ts'
import { hasGap, type LookedUp, reachOf, type WindowFace } from './coverage.ts'

/**
 * Some plants of a partition, by their place in the log order of their first claims: so many from index `from`
 * on. The log alone decides which plant has which index, so it is the same on every instance and for ever.
 */
export type Span = { from: number; count: number }

/** What one atomic answer of the read model told: its claims of the span, how many plants it has, and C. */
export type ListedSpan = { claims: Claim[]; plants: number; checkpoint: Offset }

/** What the window has after a checkpoint, taken at one moment; `isAll` unless there may be more than was taken. */
export type Beyond = { candidates: Claim[]; isAll: boolean; reach: Offset }

/** What of a span is known for sure, from its beginning on; `isEnd` when the partition has no more than these. */
export type KnownSpan = { claims: Claim[]; isEnd: boolean }

/** The offsets that a view must reach: to say anything to this client, and to say that there is no more (H). */
export type ToReach = { position: Offset; readFloor: Offset }

export type ListLimits = {
  /** How many plants a span may lie beyond the read model. */
  maxBeyond: number
  /** So many candidates more than plants are wanted are looked at, for some of them may be void. */
  spareCandidates: number
}

type ListedWindow = WindowFace & { claimsAfter(offset: Offset, max: number): Claim[] }

/**
 * The claims that may go on where the read model ended. Take the window after the read model has answered.
 * A candidate is the first claim of its id since T0, and void if the id was claimed before T0: the
 * read model has to be asked for their ids once more.
 */
export function beyond(
  { claims, plants, checkpoint }: ListedSpan,
  { from, count }: Span,
  window: ListedWindow,
  { maxBeyond, spareCandidates }: ListLimits,
): Beyond {
  const reach = reachOf(window, checkpoint)
  // A full span is told by the read model alone; with a gap, what comes next is not known.
  if (claims.length === count || hasGap(window, checkpoint)) return { candidates: [], isAll: false, reach }
  const max = Math.min(from + count - plants + spareCandidates, maxBeyond)
  const candidates = window.claimsAfter(checkpoint, max)
  return { candidates, isAll: candidates.length < max, reach }
}

/**
 * Puts together what the read model and the window tell of a span. `lookedUp` has the candidates' entries, read
 * after the span was, in their order. Whoever has been given what lies before the span has seen plants that
 * this view may not know: then nothing is told.
 */
export function knownSpan(
  listed: ListedSpan,
  { from, count }: Span,
  { candidates, isAll, reach }: Beyond,
  lookedUp: { entries: readonly LookedUp['entry'][]; checkpoint: Offset },
  toReach: ToReach,
): KnownSpan {
  if (reach < toReach.position) return { claims: [], isEnd: false }
  // A read model that fell back in between can't tell which candidates are void.
  const isJudged = lookedUp.checkpoint >= listed.checkpoint
  const created = isJudged ? candidates.filter((_, n) => isFirst(lookedUp.entries[n], listed.checkpoint)) : []
  const known = listed.plants + created.length
  const claims = listed.claims.concat(
    created.slice(Math.max(0, from - listed.plants), Math.max(0, from + count - listed.plants)),
  )
  const isEnd = isAll && isJudged && from <= known && claims.length < count && reach >= toReach.readFloor
  return { claims, isEnd }
}

/** No entry, or one from after the checkpoint, which is this very claim: nobody has claimed the id before. */
function isFirst(entry: LookedUp['entry'], checkpoint: Offset): boolean {
  return entry === undefined || entry.offset >= after(checkpoint)
}
