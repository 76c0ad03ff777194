import type { Claim } from '../plant/plant-created.ts'
import { after, type Offset } from '../plant/position.ts'
import { coverageReach, hasCoverageGap, type LookUpResult, type WindowReader } from './coverage.ts'

/**
 * A range of a partition's plants, in the log order of their first claims: `count` plants from index `from` on. The log
 * alone decides which plant has which index, so it is the same on every instance and never changes.
 */
export type Span = { from: number; count: number }

/** One atomic read of a span in the read model: its claims, the number of plants in the partition, and C. */
export type ListedSpan = { claims: Claim[]; plants: number; checkpoint: Offset }

/** Claims of the window after C that may continue a span. `isComplete` when the window has no others. */
export type Candidates = { claims: Claim[]; isComplete: boolean; reach: Offset }

/** The beginning of a span, as far as it is certain; `isEnd` when the partition has no plants after these. */
export type KnownSpan = { claims: Claim[]; isEnd: boolean }

export type ListLimits = {
  /** Most candidates that are read from the window for one span. */
  maxCandidates: number
  /** Candidates that are read beyond the plants a span needs, because some of them may be void. */
  spareCandidates: number
}

type ListedWindow = WindowReader & { claimsAfter(offset: Offset, max: number): Claim[] }

/**
 * The claims that may follow where the read model ended. Pass the window as it is after the read model's response. A
 * candidate is the first claim of its id since T0; it is void if the id was claimed before T0. Look the candidates' ids
 * up in the read model to find out.
 */
export function candidatesOf(
  { claims, plants, checkpoint }: ListedSpan,
  { from, count }: Span,
  window: ListedWindow,
  { maxCandidates, spareCandidates }: ListLimits,
): Candidates {
  const reach = coverageReach(window, checkpoint)
  // A full span needs no candidates; after a gap the next plant is not known.
  if (claims.length === count || hasCoverageGap(window, checkpoint)) return { claims: [], isComplete: false, reach }
  const max = Math.min(from + count - plants + spareCandidates, maxCandidates)
  const found = window.claimsAfter(checkpoint, max)
  return { claims: found, isComplete: found.length < max, reach }
}

/**
 * Joins the read model's part of a span with the candidates of the window. `lookedUp` has the candidates' entries, in
 * their order, read after the span. A client whose token is beyond the reach has seen plants that this instance may not
 * know: then nothing is known. To end the list, the reach must include `readFloor` (H), too.
 */
export function knownSpan(
  listed: ListedSpan,
  { from, count }: Span,
  candidates: Candidates,
  lookedUp: { entries: readonly LookUpResult['entry'][]; checkpoint: Offset },
  required: { token: Offset; readFloor: Offset },
): KnownSpan {
  const { reach } = candidates
  if (reach < required.token) return { claims: [], isEnd: false }
  // A read model that fell back in between does not show which candidates are void.
  const isDecided = lookedUp.checkpoint >= listed.checkpoint
  const created = isDecided ? candidates.claims.filter((_, n) => isFirst(lookedUp.entries[n], listed.checkpoint)) : []
  const known = listed.plants + created.length
  const claims = listed.claims.concat(
    created.slice(Math.max(0, from - listed.plants), Math.max(0, from + count - listed.plants)),
  )
  const isEnd =
    candidates.isComplete && isDecided && from <= known && claims.length < count && reach >= required.readFloor
  return { claims, isEnd }
}

/** Without an entry, or with one after the checkpoint (the candidate itself), the id was not claimed before. */
function isFirst(entry: LookUpResult['entry'], checkpoint: Offset): boolean {
  return entry === undefined || entry.offset >= after(checkpoint)
}
