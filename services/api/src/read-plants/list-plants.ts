import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import {
  BEFORE_FIRST,
  type ConsistencyToken,
  type Offset,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import { coverageReach } from '@plant-store/shared/protocol/coverage.ts'
import {
  type Candidates,
  candidatesOf,
  type KnownSpan,
  knownSpan,
  type ListedSpan,
  type ListLimits,
} from '@plant-store/shared/protocol/list.ts'
import { readable } from '@plant-store/shared/read-model/entry.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { PartitionSpan, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import type { Cursor } from './cursor.ts'
import { type NotCovered, type ReadOptions, retryUntilCovered } from './retry-until-covered.ts'

export type ListPlants = {
  cursor: Cursor
  /** Most plants on the page, 1 to 1,000. */
  limit: number
  positions: ConsistencyToken
}

/** `next` is absent at the end of the list; `shown` has the highest offset on the page of each partition. */
export type PlantList = { is: 'page'; claims: Claim[]; shown: ConsistencyToken; next?: Cursor } | NotCovered

export const LIST_LIMITS = {
  maxCandidates: 10_000,
  spareCandidates: 100,
  /** Most plants that further partitions are asked for at once, if each had as many as are wanted. */
  maxPlantsAtOnce: 4_000,
}

type Readable = { checkpoint: Offset; entries: (Claim | undefined)[] }

export type ListOptions = ReadOptions & { limits?: ListLimits & { maxPlantsAtOnce: number } }

export type PlantLister = ReturnType<typeof createPlantLister>

/** Lists plants, partition by partition, from the view of this instance. */
export function createPlantLister(
  readModel: Pick<ReadModel, 'list' | 'lookUp'>,
  claimIndex: ClaimIndex,
  { limits = LIST_LIMITS, ...options }: ListOptions,
) {
  async function reachesAll(positions: ConsistencyToken): Promise<boolean> {
    if (positions.size === 0) return true
    const answers = await readModel.lookUp([...positions.keys()].map((partition) => ({ partition, ids: [] })))
    return [...positions].every(
      ([partition, offset], n) =>
        coverageReach(claimIndex.window(partition), (answers[n] as PartitionLookUp).checkpoint) >= offset,
    )
  }

  /** The entries of all candidates, in one round trip. */
  async function lookUpCandidates(
    spans: readonly PartitionSpan[],
    further: readonly Candidates[],
  ): Promise<Readable[]> {
    const asked = spans.map(({ partition }, n) => ({
      partition,
      ids: (further[n] as Candidates).claims.map(({ id }) => id),
    }))
    const some = asked.filter(({ ids }) => ids.length > 0)
    const found = some.length === 0 ? [] : await readModel.lookUp(some)
    const answers = found.map(({ checkpoint, entries }) => ({ checkpoint, entries: entries.map(readable) }))
    const nothingAsked = { entries: [], checkpoint: Number.POSITIVE_INFINITY as Offset }
    return asked.map((each) => answers[some.indexOf(each)] ?? nothingAsked)
  }

  async function tell(spans: readonly PartitionSpan[], positions: ConsistencyToken): Promise<KnownSpan[]> {
    const listed = await readModel.list(spans)
    // The windows are looked at now, after the read model has answered.
    const further = spans.map((span, n) =>
      candidatesOf(listed[n] as ListedSpan, span, claimIndex.window(span.partition), limits),
    )
    const lookedUp = await lookUpCandidates(spans, further)
    return spans.map((span, n) =>
      knownSpan(listed[n] as ListedSpan, span, further[n] as Candidates, lookedUp[n] as Readable, {
        token: positions.get(span.partition) ?? BEFORE_FIRST,
        readFloor: claimIndex.readFloor.of(span.partition),
      }),
    )
  }

  /**
   * One lap at most, from the cursor's partition on. Its partition most often fills the page, so it is asked alone;
   * then several at once, since in a small store each has only a few.
   */
  async function tryList({ cursor, limit, positions }: ListPlants): Promise<PlantList | undefined> {
    if (!(await reachesAll(positions))) return undefined
    const page = startPage(cursor, limit)
    const lap = cursor.given.map((_, n) => ((cursor.partition + n) % cursor.given.length) as Partition)
    for (let [at, size] = [0, 1]; at < lap.length; at += size, size = sizeFor(page.room())) {
      const count = page.room()
      const spans = lap.slice(at, at + size).map((partition) => ({
        ...{ partition, count, from: cursor.given[partition] as number },
      }))
      const told = await tell(spans, positions)
      for (const [n, { partition }] of spans.entries()) {
        const { claims, isEnd } = told[n] as KnownSpan
        page.add(partition, claims)
        // What comes next is in this partition, or may be.
        if (page.room() === 0 || !isEnd) return page.isEmpty() ? undefined : show(page.endIn(partition))
      }
    }
    return show(page.end())
  }

  const sizeFor = (count: number) => Math.max(1, Math.floor(limits.maxPlantsAtOnce / count))

  function show(page: PlantList & { is: 'page' }): PlantList {
    for (const [partition, offset] of page.shown) claimIndex.readFloor.raise(partition, offset)
    return page
  }

  return {
    /**
     * The next page: each plant once, in log order within a partition, and all that is known. It ends early where the
     * view can't tell on, unless it would be empty; `next` is absent only when one lap has shown
     * every partition to have no more. Answers within the deadline, or when the attempt that is under way then has ended.
     */
    list: (asked: ListPlants): Promise<PlantList> => retryUntilCovered(() => tryList(asked), options),
  }
}

function startPage(cursor: Cursor, limit: number) {
  const given = [...cursor.given]
  const claims: Claim[] = []
  const shown = new Map<Partition, Offset>()
  return {
    room: () => limit - claims.length,
    isEmpty: () => claims.length === 0,

    /** Takes of these, which go on where the page is in their partition, as many as there is room for. */
    add(partition: Partition, found: readonly Claim[]): void {
      for (const claim of found.slice(0, limit - claims.length)) {
        claims.push(claim)
        given[partition] = (given[partition] as number) + 1
        shown.set(partition, claim.offset)
      }
    },

    end: () => ({ is: 'page', claims, shown }) as const,
    endIn: (partition: Partition) => ({ is: 'page', claims, shown, next: { partition, given } }) as const,
  }
}
