import { isDeepStrictEqual } from 'node:util'
import { decodeCursor, encodeCursor, firstCursor } from '@plant-store/api/src/read-plants/cursor.ts'
import type { PlantList } from '@plant-store/api/src/read-plants/list-plants.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { type LogPosition, partitionOf } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import type { SimulatedApi } from './api.ts'
import { ALL, PARTITIONS } from './kafka.ts'
import { firstsOf, winnerOf } from './oracle.ts'
import type { ProcessContext } from './process-context.ts'
import { pick, type Random } from './random.ts'

/** A list that a client pages through: the plants listed of each partition, and the cursor of the next page. */
type Listing = { listed: PlantId[][]; cursor: string; hasEnded: boolean }
type Page = PlantList & { is: 'page' }

const LIMITS = [1, 1, 2, 3, 100]
const ALL_PAGES = 100

/** Clients that page through lists, each page on any api, and compare every page with the log. */
export function createListings(
  { log, trace, broken }: ProcessContext,
  onShown: (api: SimulatedApi, page: Page) => void,
) {
  /** Lists without a page in flight. */
  let open: Listing[] = []

  const start = (): Listing => ({
    listed: ALL.map(() => []),
    cursor: encodeCursor(firstCursor(PARTITIONS)),
    hasEnded: false,
  })

  async function readPage(api: SimulatedApi, listing: Listing, limit: number, token: ConsistencyToken) {
    const cursor = decodeCursor(listing.cursor, PARTITIONS)
    if (cursor === undefined) return broken('a cursor of a page is refused')
    const { name } = api.process
    trace(() => `${name} gets a list of ${limit} plants after ${cursor.listed.join()}${describeToken(token)}`)
    const known = ALL.flatMap((partition) =>
      firstsOf(log, partition).filter((claim) => mustKnow(api, { ...claim, partition }, token)),
    )
    api.waiting++
    const lister = api.startListing()
    const page = await lister.list({ cursor, limit, token })
    api.waiting--
    trace(() => `${name} lists ${describe(page)}`)
    if (page.is !== 'page') return
    if ([...token].some(([partition, offset]) => lister.reach(partition) < offset))
      broken('a page from before its token')
    take(listing, page, limit)
    if (listing.hasEnded && known.some(({ id }) => !listing.listed.flat().includes(id)))
      broken('a list ended without a plant')
    onShown(api, page)
  }

  function take(listing: Listing, { claims, shown, next }: Page, limit: number): void {
    if (claims.length > limit) broken('a page is longer than its limit')
    if (claims.length === 0 && next !== undefined) broken('an empty page that is not the last one')
    const tokenOf = new Map<number, number>()
    for (const claim of claims) {
      const partition = partitionOf(Buffer.from(claim.id.toString()), PARTITIONS)
      takeClaim(claim, listing.listed[partition] as PlantId[])
      tokenOf.set(partition, claim.offset)
    }
    if ([...shown].join() !== [...tokenOf].join()) broken('a list with a position that it does not show')
    if (next !== undefined) listing.cursor = encodeCursor(next)
    listing.hasEnded = next === undefined
  }

  function takeClaim({ id, plant, offset }: Claim, given: PlantId[]): void {
    const winner = winnerOf(log, id)
    if (winner === undefined) broken('a list invented a plant')
    else if (!isDeepStrictEqual(winner.plant, plant) || winner.offset !== offset) broken('a list changed a plant')
    else if (given.includes(id)) broken('a list repeated a plant')
    else if (firstsOf(log, winner.partition)[given.length]?.id !== id) broken('a list left a plant out')
    given.push(id)
  }

  return {
    /** The next page of an open list, or the first page of a new one. */
    page(api: SimulatedApi, random: Random, token: ConsistencyToken): void {
      const listing = (random.chance(0.8) ? random.pick(open) : undefined) ?? start()
      open = open.filter((other) => other !== listing)
      void readPage(api, listing, pick(LIMITS, random), token).then(() => {
        if (!listing.hasEnded) open.push(listing)
      })
    },

    /** At rest: pages through a whole list, which must equal the fold of the log. */
    async all(api: SimulatedApi, limit: number): Promise<void> {
      const listing = start()
      for (let pages = 0; !listing.hasEnded && pages < ALL_PAGES; pages++)
        await readPage(api, listing, limit, new Map())
      const fold = ALL.map((partition) => firstsOf(log, partition).map(({ id }) => id))
      if (!listing.hasEnded || listing.listed.join(';') !== fold.join(';'))
        broken(`${api.process.name} does not list the fold of the log: ${listing.listed.join(';')}`)
    },
  }
}

function describe(list: PlantList): string {
  if (list.is !== 'page') return list.is
  const ids = list.claims.map(({ id }) => id).join(', ') || 'nothing'
  return list.next === undefined ? `${ids} (end of the list)` : ids
}

export function describeToken(token: ConsistencyToken): string {
  const texts = [...token].map(([partition, offset]) => `${partition}-${offset}`)
  return texts.length === 0 ? '' : ` at ${texts.join(', ')}`
}

/** True if the api may not deny a plant in response to a request that it gets now. */
export function mustKnow(api: SimulatedApi, plant: LogPosition & { id: PlantId }, token: ConsistencyToken): boolean {
  const { id, partition, offset } = plant
  return api.shown.has(id) || offset < (api.startedAt[partition] as number) || offset <= (token.get(partition) ?? -1)
}
