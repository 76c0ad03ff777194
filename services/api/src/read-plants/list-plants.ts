import { readable } from '@plant-store/shared/plant/entry.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type ConsistencyToken, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { coverageReach } from '@plant-store/shared/protocol/coverage.ts'
import {
  type Candidates,
  candidatesOf,
  type KnownSpan,
  knownSpan,
  type ListedSpan,
  type ListLimits,
} from '@plant-store/shared/protocol/list.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { PartitionSpan, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import type { Cursor } from './cursor.ts'
import { createReachGate } from './reach-gate.ts'
import { type NotCovered, type ReadOptions, retryUntilCovered } from './retry-until-covered.ts'

export type ListPlants = {
  cursor: Cursor
  /** Most plants on the page, 1 to 1,000. */
  limit: number
  token: ConsistencyToken
}

/** `next` is absent at the end of the list; `shown` has the highest offset of each partition on the page. */
export type PlantList = { is: 'page'; claims: Claim[]; shown: ConsistencyToken; next?: Cursor } | NotCovered

export const LIST_LIMITS = {
  maxCandidates: 10_000,
  spareCandidates: 100,
  /** Most plants that one read of several partitions can return. */
  maxPlantsPerRead: 4_000,
}

type CandidateLookUp = { checkpoint: Offset; entries: (Claim | undefined)[] }

export type ListOptions = ReadOptions & { limits?: ListLimits & { maxPlantsPerRead: number } }

export type PlantLister = ReturnType<typeof createPlantLister>

/** Lists plants, partition by partition, from the read model and the windows of this instance together. */
export function createPlantLister(
  readModel: Pick<ReadModel, 'list' | 'lookUp'>,
  claimIndex: ClaimIndex,
  { limits = LIST_LIMITS, ...options }: ListOptions,
) {
  const gated = createReachGate(readModel, claimIndex, options.time)

  async function reachesAll(token: ConsistencyToken): Promise<boolean> {
    if (token.size === 0) return true
    const lookUps = await readModel.lookUp([...token.keys()].map((partition) => ({ partition, ids: [] })))
    return [...token].every(
      ([partition, offset], n) =>
        coverageReach(claimIndex.window(partition), (lookUps[n] as PartitionLookUp).checkpoint) >= offset,
    )
  }

  /** The entries of all candidates, in one round trip; without a request for partitions that have none. */
  async function lookUpCandidates(spans: readonly PartitionSpan[], candidates: readonly Candidates[]) {
    const requests = spans.map(({ partition }, n) => ({
      partition,
      ids: (candidates[n] as Candidates).claims.map(({ id }) => id),
    }))
    const needed = requests.filter(({ ids }) => ids.length > 0)
    const found = needed.length === 0 ? [] : await readModel.lookUp(needed)
    const lookUps = found.map(({ checkpoint, entries }) => ({ checkpoint, entries: entries.map(readable) }))
    const noCandidates = { entries: [], checkpoint: Number.POSITIVE_INFINITY as Offset }
    return requests.map((request) => lookUps[needed.indexOf(request)] ?? noCandidates)
  }

  async function readSpans(spans: readonly PartitionSpan[], token: ConsistencyToken): Promise<KnownSpan[]> {
    const listed = await readModel.list(spans)
    // The windows are read now, after the read model's response.
    const candidates = spans.map((span, n) =>
      candidatesOf(listed[n] as ListedSpan, span, claimIndex.window(span.partition), limits),
    )
    const lookUps = await lookUpCandidates(spans, candidates)
    return spans.map((span, n) =>
      knownSpan(listed[n] as ListedSpan, span, candidates[n] as Candidates, lookUps[n] as CandidateLookUp, {
        token: token.get(span.partition) ?? BEFORE_FIRST,
        readFloor: claimIndex.readFloor.of(span.partition),
      }),
    )
  }

  /**
   * Goes through all partitions at most once, starting at the cursor's. That partition usually fills the page, so it is
   * read alone; then several per read, because in a small store each has only a few plants.
   */
  async function tryList({ cursor, limit, token }: ListPlants): Promise<PlantList | undefined> {
    if (!(await reachesAll(token))) return undefined
    const page = startPage(cursor, limit)
    const { length } = cursor.listed
    const partitions = cursor.listed.map((_, n) => ((cursor.partition + n) % length) as Partition)
    let perRead = 1
    for (let at = 0; at < length; at += perRead, perRead = partitionsPerRead(page.room())) {
      const count = page.room()
      const spans = partitions
        .slice(at, at + perRead)
        .map((partition) => ({ partition, count, from: cursor.listed[partition] as number }))
      const known = await readSpans(spans, token)
      for (const [n, { partition }] of spans.entries()) {
        const { claims, isEnd } = known[n] as KnownSpan
        page.add(partition, claims)
        // The next plant is in this partition, or may be.
        if (page.room() === 0 || !isEnd) return page.isEmpty() ? undefined : show(page.endIn(partition))
      }
    }
    return show(page.end())
  }

  const partitionsPerRead = (count: number) => Math.max(1, Math.floor(limits.maxPlantsPerRead / count))

  function show(page: PlantList & { is: 'page' }): PlantList {
    for (const [partition, offset] of page.shown) claimIndex.readFloor.raise(partition, offset)
    return page
  }

  return {
    /**
     * The next page: each plant once, in log order within a partition. It ends early where the next plant is not known,
     * unless it would be empty; `next` is absent only when one pass over all partitions has found no further plants.
     * Resolves within the deadline, or when the attempt in flight at the deadline has ended.
     */
    list(request: ListPlants): Promise<PlantList> {
      const attempt = gated(positionsOf(request), () => tryList(request))
      return retryUntilCovered(attempt, options, claimIndex.needTail)
    },
  }
}

/** The token, and for each partition the lowest position by which a log has the plants that the cursor has counted. */
function positionsOf({ cursor, token }: ListPlants): ConsistencyToken {
  const counted = cursor.listed.map((count, p) => [p as Partition, (count - 1) as Offset] as const)
  return new Map(
    counted.map(([partition, last]) => [partition, Math.max(last, token.get(partition) ?? BEFORE_FIRST) as Offset]),
  )
}

function startPage(cursor: Cursor, limit: number) {
  const listed = [...cursor.listed]
  const claims: Claim[] = []
  const shown = new Map<Partition, Offset>()
  return {
    room: () => limit - claims.length,
    isEmpty: () => claims.length === 0,

    /** Adds claims that follow the page's last ones in their partition, as many as there is room for. */
    add(partition: Partition, found: readonly Claim[]): void {
      for (const claim of found.slice(0, limit - claims.length)) {
        claims.push(claim)
        listed[partition] = (listed[partition] as number) + 1
        shown.set(partition, claim.offset)
      }
    },

    end: () => ({ is: 'page', claims, shown }) as const,
    endIn: (partition: Partition) => ({ is: 'page', claims, shown, next: { partition, listed } }) as const,
  }
}
