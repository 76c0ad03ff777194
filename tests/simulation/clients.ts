import { isDeepStrictEqual } from 'node:util'
import type { Outcome } from '@plant-store/api/src/create-plant/create-plant.ts'
import type { ReadPlant } from '@plant-store/api/src/read-plants/read-plant.ts'
import { type EventId, keyedEventId } from '@plant-store/shared/plant/event-id.ts'
import type { NewPlant, PlantId } from '@plant-store/shared/plant/plant.ts'
import type { LogPosition, Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { newPlant } from '../support/generated-plants.ts'
import type { SimulatedApi } from './api.ts'
import { createListings, describeToken, mustKnow } from './listings.ts'
import { winnerOf } from './oracle.ts'
import type { ProcessContext } from './process-context.ts'
import type { Random } from './random.ts'
import { eventIdOf } from './records.ts'

/** A create request of a client; a keyed one may be sent again with the same key and plant. */
type CreateRequest = { plant: NewPlant; eventId: EventId; keyed: boolean }

/** The requests of the clients of one schedule. Shares are from 0 to 1. */
export type Workload = {
  /** The plant ids of requests. */
  ids: readonly PlantId[]
  /** The share of creates with an Idempotency-Key, and the share that repeats an earlier one. */
  keyed: number
  repeated: number
  /** The share of reads with more than one position, and the share that is followed by a page of a list. */
  lists: number
}

/** Clients that create and read plants and compare every response with the log. */
export function createClients(context: ProcessContext, { ids, ...workload }: Workload) {
  const { log, trace, broken } = context
  const requests: CreateRequest[] = []
  const sent = new Set<EventId>()
  /** Event ids of creates with the outcome 'not written'. */
  const notWritten = new Set<EventId>()
  const positions: LogPosition[] = []
  /** Keyed creates with the outcome 'outcome unknown'. */
  const unknown = new Set<CreateRequest>()

  function newRequest(random: Random, id = random.pick(ids) as PlantId): CreateRequest {
    const n = requests.length
    const plant = newPlant(id, { name: `plant ${n}`, ...(n % 2 === 0 && { tag: `tag ${n}` }) })
    const keyed = random.chance(workload.keyed)
    const eventId = keyed ? keyedEventId('client', `key ${n}`, plant) : eventIdOf('client', n)
    const request = { plant, eventId, keyed }
    requests.push(request)
    return request
  }

  async function create(api: SimulatedApi, request: CreateRequest): Promise<Outcome> {
    const { plant, eventId } = request
    const { name } = api.process
    const sentBefore = api.sent.length
    trace(() => `${name} gets a create of ${plant.id} (${plant.name}${request.keyed ? ', keyed' : ''})`)
    sent.add(eventId)
    api.waiting++
    api.creating++
    const outcome = await api.creation.create(request)
    api.waiting--
    api.creating--
    trace(() => `${name} responds to ${plant.name} of ${plant.id}: ${describe(outcome)}`)
    if (outcome.is === 'notWritten' || outcome.is === 'coverageGap') {
      const written = api.sent
        .slice(sentBefore)
        .some(({ record, isRefused }) => !isRefused && String(record.headers.ce_id) === eventId)
      const name = outcome.is === 'notWritten' ? 'not written' : 'coverage gap'
      if (written) broken(`"${name}" though it sent the event to Kafka`)
      if (!request.keyed) notWritten.add(eventId)
    }
    if (outcome.is === 'outcomeUnknown' && request.keyed) unknown.add(request)
    if (outcome.is === 'created' || outcome.is === 'duplicate') checkVerdict(api, request, outcome)
    return outcome
  }

  function checkVerdict(
    api: SimulatedApi,
    { plant, eventId }: CreateRequest,
    outcome: Outcome & { is: 'created' | 'duplicate' },
  ): void {
    const winner = winnerOf(log, plant.id)
    if (winner === undefined) {
      broken(`"${outcome.is}" though nobody has claimed the id`)
      return
    }
    if (outcome.is === 'created' && winner.eventId !== eventId) broken('a 200 whose event did not win')
    if (outcome.is === 'duplicate' && winner.eventId === eventId) broken('a duplicate though its event won')
    // A duplicate may have the position of a later claim of the id: a reach that includes it includes the winner.
    const named = log.records(winner.partition).find(({ offset }) => offset === outcome.offset)?.claim
    const isRight = outcome.is === 'created' ? outcome.offset === winner.offset : named?.id === plant.id
    if (outcome.partition !== winner.partition || !isRight) broken('a position where the plant is not')
    addShown(api, plant.id, outcome)
  }

  function addShown(api: SimulatedApi, id: PlantId, { partition, offset }: LogPosition): void {
    api.shown.add(id)
    positions.push({ partition, offset })
  }

  const listings = createListings(context, (api, { claims, shown }) => {
    for (const { id } of claims) api.shown.add(id)
    for (const [partition, offset] of shown) positions.push({ partition, offset })
  })

  async function read(api: SimulatedApi, id: PlantId, token: ConsistencyToken): Promise<ReadPlant> {
    const { name } = api.process
    trace(() => `${name} gets a read of ${id}${describeToken(token)}`)
    const known = winnerOf(log, id)
    const mayNotDeny = known !== undefined && mustKnow(api, known, token)
    api.waiting++
    const reading = api.startReading()
    const result = await reading.read(id, token)
    api.waiting--
    trace(() => `${name} responds to the read of ${id}: ${result.is}`)
    if (result.is === 'coverageGap') return result
    if ([...token].some(([partition, offset]) => reading.reach(partition) < offset))
      broken('a read from before its token')
    const winner = winnerOf(log, id)
    if (result.is === 'noSuchPlant') {
      if (mayNotDeny) broken('a read forgot a plant')
      return result
    }
    if (winner === undefined) broken('a read invented a plant')
    // An api has the plants of its creates from their requests, the others from the log.
    else if (!isDeepStrictEqual(winner.plant, result.is === 'plant' ? result.plant : undefined))
      broken('a read changed a plant')
    if (result.is === 'plant') addShown(api, id, result)
    else if (winner !== undefined) api.shown.add(id)
    return result
  }

  /** Up to three positions. */
  function morePositions(random: Random): (LogPosition | undefined)[] {
    return workload.lists > 0 && random.chance(workload.lists) ? [1, 2, 3].map(() => random.pick(positions)) : []
  }

  return {
    create(api: SimulatedApi, random: Random): void {
      const repeated = random.chance(workload.repeated) ? random.pick(requests.filter(({ keyed }) => keyed)) : undefined
      void create(api, repeated ?? newRequest(random))
    },

    read(api: SimulatedApi, random: Random): void {
      const position = random.chance(0.5) ? random.pick(positions) : undefined
      const id = random.pick(ids) as PlantId
      void read(api, id, tokenOf([position, ...morePositions(random)]))
      if (workload.lists > 0 && random.chance(workload.lists))
        listings.page(api, random, tokenOf(morePositions(random)))
    },

    /** At rest: this api lists exactly the fold of the log. */
    listAll: listings.all,

    /** Creates with an unknown outcome. */
    unknown: (): CreateRequest[] => [...unknown],

    /** Repeats a create with an unknown outcome, with the same key: now it must have a verdict. */
    async retryUnknown(api: SimulatedApi, request: CreateRequest): Promise<void> {
      const { is } = await create(api, request)
      if (is !== 'created' && is !== 'duplicate')
        broken(`a retry with the same key has the outcome '${is}' though all has settled`)
    },

    /** Creates a plant with a new id. */
    createNew: (api: SimulatedApi, random: Random, id: PlantId) => create(api, newRequest(random, id)),
    readAt: (api: SimulatedApi, id: PlantId, position?: LogPosition) => read(api, id, tokenOf([position])),

    /**
     * At rest: no event of a create that was 'not written' is in the log, and every event there was sent by a client
     * or is foreign.
     */
    checkLog(foreign: ReadonlySet<EventId>): void {
      for (const partition of log.ends().keys()) {
        for (const { claim } of log.records(partition as never)) {
          if (claim === undefined) continue
          if (notWritten.has(claim.eventId)) broken('"not written", but it is in the log')
          if (!sent.has(claim.eventId) && !foreign.has(claim.eventId)) broken('an event that nobody sent')
        }
      }
    },
  }
}

/** The token of these positions: the highest offset of each partition. */
function tokenOf(some: readonly (LogPosition | undefined)[]): ConsistencyToken {
  const positions = new Map<Partition, Offset>()
  for (const position of some) {
    if (position === undefined) continue
    const { partition, offset } = position
    positions.set(partition, Math.max(offset, positions.get(partition) ?? 0) as Offset)
  }
  return positions
}

function describe(outcome: Outcome): string {
  return 'offset' in outcome ? `${outcome.is}, ${outcome.partition}-${outcome.offset}` : outcome.is
}
