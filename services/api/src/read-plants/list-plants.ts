import { readable } from '@plant-store/shared/plant/entry.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { coverageReach } from '@plant-store/shared/protocol/coverage.ts'
import { candidatesOf, type KnownSpan, knownSpan, type ListLimits } from '@plant-store/shared/protocol/list.ts'
import type { PartitionLookUp, PartitionSpan, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import type { Cursor } from './cursor.ts'
import { createRetries, type NotCovered, type ReadOptions } from './retry-until-covered.ts'

export type ListPlants = {
  cursor: Cursor
  /** Most plants on the page, 1 to 1,000. */
  limit: number
  token: ConsistencyToken
}

/** `next` is absent at the end of the list; `shown` has the highest offset of each partition on the page. */
export type PlantList = { is: 'page'; claims: Claim[]; shown: ConsistencyToken; next?: Cursor } | NotCovered

const NOT_KNOWN: KnownSpan = { claims: [], isEnd: false }
const NO_CANDIDATES: PartitionLookUp = { entries: [], checkpoint: Number.POSITIVE_INFINITY as Offset }

export const LIST_LIMITS = {
  maxCandidates: 10_000,
  spareCandidates: 100,
  /** Most plants that one read of several partitions can return. */
  maxPlantsPerRead: 4_000,
}

type BeforeFault<T> = { results: T[]; fault?: unknown }

export type ListOptions = ReadOptions & { limits?: ListLimits & { maxPlantsPerRead: number } }

export type PlantLister = ReturnType<typeof createPlantLister>

/** Lists plants, partition by partition, from the read model and the windows of this instance together. */
export function createPlantLister(
  readModel: Pick<ReadModel, 'listEach' | 'lookUp' | 'lookUpEach'>,
  claimIndex: ClaimIndex,
  { limits = LIST_LIMITS, ...options }: ListOptions,
) {
  const retryUntilCovered = createRetries(readModel, claimIndex, options)

  async function reachesAll(token: ConsistencyToken): Promise<boolean> {
    if (token.size === 0) return true
    const lookUps = await readModel.lookUp([...token.keys()].map((partition) => ({ partition, ids: [] })))
    return [...token].every(
      ([partition, offset], n) =>
        coverageReach(claimIndex.window(partition), (lookUps[n] as PartitionLookUp).checkpoint) >= offset,
    )
  }

  /** The known part of each span before the first one that cannot be read. */
  async function readSpans(spans: readonly PartitionSpan[], token: ConsistencyToken): Promise<BeforeFault<KnownSpan>> {
    const { results, ...failed } = await beforeFault(readModel.listEach(spans))
    // The windows are read now, after the read model's response.
    const read = results.map((listed, n) => {
      const span = spans[n] as PartitionSpan
      const candidates = candidatesOf(listed, span, claimIndex.window(span.partition), limits)
      return { listed, span, candidates, ids: candidates.claims.map(({ id }) => id) }
    })
    const needed = read.filter(({ ids }) => ids.length > 0)
    const requests = needed.map(({ span: { partition }, ids }) => ({ partition, ids }))
    const found = needed.length === 0 ? [] : readModel.lookUpEach(requests)
    const known = read.map(async (each) => {
      const { checkpoint, entries } = (await found[needed.indexOf(each)]) ?? NO_CANDIDATES
      const lookUp = { checkpoint, entries: entries.map(readable) }
      const { listed, span, candidates } = each
      return knownSpan(listed, span, candidates, lookUp, {
        token: token.get(span.partition) ?? BEFORE_FIRST,
        readFloor: claimIndex.readFloor.of(span.partition),
      })
    })
    return { ...failed, ...(await beforeFault(known)) }
  }

  /**
   * Goes through all partitions at most once, starting at the cursor's. That partition usually fills the page, so it is
   * read alone; then as many per read as probably fill the page, because in a small store each has only a few plants.
   */
  async function tryList({ cursor, limit, token }: ListPlants): Promise<PlantList | undefined> {
    if (!(await reachesAll(token))) return undefined
    const claims: Claim[] = []
    const listed = [...cursor.listed]
    const shown = new Map<Partition, Offset>()
    const { length } = cursor.listed
    const partitions = cursor.listed.map((_, n) => ((cursor.partition + n) % length) as Partition)
    let [at, expected] = [0, limit]
    while (at < length) {
      const count = limit - claims.length
      const spans = partitions
        .slice(at, at + partitionsPerRead(count, expected))
        .map((partition) => ({ partition, count, from: cursor.listed[partition] as number }))
      const { results: known, fault } = await readSpans(spans, token)
      for (const [n, { partition }] of spans.entries()) {
        // A fault of one partition fails only a page that it leaves empty.
        if (n === known.length && claims.length === 0) throw fault
        const found = known[n] ?? NOT_KNOWN
        for (const claim of found.claims.slice(0, limit - claims.length)) {
          claims.push(claim)
          listed[partition] = (listed[partition] as number) + 1
          shown.set(partition, claim.offset)
        }
        if (claims.length < limit && found.isEnd) continue
        // The next plant is in this partition, or may be.
        return claims.length === 0 ? undefined : show({ is: 'page', claims, shown, next: { partition, listed } })
      }
      at += spans.length
      // Ids spread evenly. A partition that the list has been at was read to its end.
      const isNew = cursor.listed[partitions[at] as Partition] === 0
      expected = isNew ? (listed[partitions[at - 1] as Partition] as number) : 0
    }
    return show({ is: 'page', claims, shown })
  }

  const partitionsPerRead = (count: number, expected: number) =>
    Math.max(1, Math.min(Math.ceil(count / expected), Math.floor(limits.maxPlantsPerRead / count)))

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
    list: (request: ListPlants): Promise<PlantList> => retryUntilCovered(positionsOf(request), () => tryList(request)),
  }
}

/** The results before the first failure. */
async function beforeFault<T>(promises: readonly Promise<T>[]): Promise<BeforeFault<T>> {
  const results: T[] = []
  for (const settled of await Promise.allSettled(promises)) {
    if (settled.status === 'rejected') return { results, fault: settled.reason }
    results.push(settled.value)
  }
  return { results }
}

/** The token, and for each partition the lowest position by which a log has the plants that the cursor has counted. */
function positionsOf({ cursor, token }: ListPlants): ConsistencyToken {
  const counted = cursor.listed.map((count, p) => [p as Partition, (count - 1) as Offset] as const)
  return new Map(
    counted.map(([partition, last]) => [partition, Math.max(last, token.get(partition) ?? BEFORE_FIRST) as Offset]),
  )
}
