import type { Outcome } from '@plant-store/api/src/create-plant/create-plant.ts'
import type { ReadPlant } from '@plant-store/api/src/read-plants/read-plant.ts'
import { type EventId, keyedEventId } from '@plant-store/shared/plant/event-id.ts'
import type { NewPlant, PlantId } from '@plant-store/shared/plant/plant.ts'
import type { ConsistencyToken, LogPosition, Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { SimulatedApi } from './api.ts'
import type { Log } from './kafka.ts'
import { at, createListings } from './listings.ts'
import { winnerOf } from './oracle.ts'
import type { Random } from './random.ts'
import { eventIdOf } from './records.ts'

/** What a client asked to be created; the same key with the same plant may be asked for again. */
type CreateRequest = { plant: NewPlant; eventId: EventId; keyed: boolean }

/** How clients are in one schedule. */
export type Workload = {
  /** The ids they ask for. */
  ids: readonly PlantId[]
  /** How many creates have an Idempotency-Key, and how many repeat an earlier one, from 0 to 1. */
  keyed: number
  again: number
  /** How many reads have more than one position, and how many are followed by a page of a list, from 0 to 1. */
  lists: number
}

/** Clients that create and read plants, and hold every answer to the log. */
export function createClients(
  log: Log,
  { ids, ...workload }: Workload,
  trace: (what: () => string) => void,
  broken: (guarantee: string) => void,
) {
  const requests: CreateRequest[] = []
  const asked = new Set<EventId>()
  /** Event ids of attempts that were told to be in no log. */
  const notWritten = new Set<EventId>()
  const positions: LogPosition[] = []
  /** Keyed ones that were told 'outcome unknown'. */
  const unknown = new Set<CreateRequest>()

  function newRequest(random: Random, id = random.pick(ids) as PlantId): CreateRequest {
    const n = requests.length
    const plant: NewPlant = { id, name: `plant ${n}`, ...(n % 2 === 0 && { tag: `tag ${n}` }) }
    const keyed = random.chance(workload.keyed)
    const eventId = keyed ? keyedEventId('client', `key ${n}`, plant) : eventIdOf('client', n)
    const request = { plant, eventId, keyed }
    requests.push(request)
    return request
  }

  async function create(api: SimulatedApi, request: CreateRequest): Promise<Outcome> {
    const { plant, eventId } = request
    const { name } = api.process
    const given = api.given.length
    trace(() => `${name} is asked to create ${plant.id} (${plant.name}${request.keyed ? ', keyed' : ''})`)
    asked.add(eventId)
    api.waiting++
    api.creating++
    const outcome = await api.creation.create(request)
    api.waiting--
    api.creating--
    trace(() => `${name} answers ${plant.name} of ${plant.id}: ${told(outcome)}`)
    if (outcome.is === 'notWritten') {
      const written = api.given.slice(given).some(({ headers }) => String(headers.ce_id) === eventId)
      if (written) broken('"not written" though it gave the event to Kafka')
      if (!request.keyed) notWritten.add(eventId)
    }
    if (outcome.is === 'outcomeUnknown' && request.keyed) unknown.add(request)
    if (outcome.is === 'created' || outcome.is === 'duplicate') judge(api, request, outcome)
    return outcome
  }

  function judge(
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
    // A duplicate may name a later claim of the id: whoever reaches it knows the winner, too.
    const named = log.records(winner.partition).find(({ offset }) => offset === outcome.offset)?.claim
    const isRight = outcome.is === 'created' ? named?.eventId === eventId : named?.id === plant.id
    if (outcome.partition !== winner.partition || !isRight) broken('a position where the plant is not')
    if (outcome.offset < winner.offset) broken('a position from before the plant')
    show(api, plant.id, outcome)
  }

  function show(api: SimulatedApi, id: PlantId, { partition, offset }: LogPosition): void {
    api.shown.add(id)
    positions.push({ partition, offset })
  }

  const listings = createListings(
    log,
    (api, { claims, shown }) => {
      for (const { id } of claims) api.shown.add(id)
      for (const [partition, offset] of shown) positions.push({ partition, offset })
    },
    trace,
    broken,
  )

  async function read(api: SimulatedApi, id: PlantId, positions: ConsistencyToken): Promise<ReadPlant> {
    const { name } = api.process
    trace(() => `${name} is asked for ${id}${at(positions)}`)
    const known = winnerOf(log, id)
    const mustKnow =
      known !== undefined &&
      (api.shown.has(id) ||
        known.offset < (api.startedAt[known.partition] as number) ||
        (positions.get(known.partition) ?? -1) >= known.offset)
    api.waiting++
    const reading = api.startReading()
    const answer = await reading.read(id, positions)
    api.waiting--
    trace(() => `${name} answers for ${id}: ${answer.is}`)
    if (answer.is === 'coverageGap') return answer
    if ([...positions].some(([partition, offset]) => reading.reach(partition) < offset))
      broken('a read answered from before its position')
    const winner = winnerOf(log, id)
    if (answer.is === 'noSuchPlant') {
      if (mustKnow) broken('a read forgot a plant')
      return answer
    }
    if (winner === undefined) broken('a read invented a plant')
    else if (winner.plant !== (answer.is === 'plant' ? answer.plant : undefined))
      broken('a read changed a plant')
    if (answer.is === 'plant') show(api, id, answer)
    else if (winner !== undefined) api.shown.add(id)
    return answer
  }

  /** Up to three. */
  function morePositions(random: Random): (LogPosition | undefined)[] {
    return workload.lists > 0 && random.chance(workload.lists)
      ? [1, 2, 3].map(() => random.pick(positions))
      : []
  }

  return {
    create(api: SimulatedApi, random: Random): void {
      const again = random.chance(workload.again)
        ? random.pick(requests.filter(({ keyed }) => keyed))
        : undefined
      void create(api, again ?? newRequest(random))
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

    /** Asks again for what was told to be unknown, with the same keys: now it is told. */
    async retryUnknown(api: SimulatedApi): Promise<void> {
      for (const request of [...unknown]) {
        const { is } = await create(api, request)
        if (is !== 'created' && is !== 'duplicate')
          broken(`a retry with the same key is told '${is}' though all has settled`)
      }
    },

    /** A plant that nobody has, to see whether creates work. */
    createNew: (api: SimulatedApi, random: Random, id: PlantId) => create(api, newRequest(random, id)),
    readAt: (api: SimulatedApi, id: PlantId, position?: LogPosition) => read(api, id, tokenOf([position])),

    /** At rest: what was told to be not written is not there, and nothing is that nobody asked for. */
    checkLog(foreign: ReadonlySet<EventId>): void {
      for (const partition of log.ends().keys()) {
        for (const { claim } of log.records(partition as never)) {
          if (claim === undefined) continue
          if (notWritten.has(claim.eventId)) broken('"not written", but it is in the log')
          if (!asked.has(claim.eventId) && !foreign.has(claim.eventId))
            broken('an event that nobody asked for')
        }
      }
    },
  }
}

/** As a header has them: the tokenOf of each partition counts. */
function tokenOf(some: readonly (LogPosition | undefined)[]): ConsistencyToken {
  const positions = new Map<Partition, Offset>()
  for (const position of some) {
    if (position === undefined) continue
    const { partition, offset } = position
    positions.set(partition, Math.max(offset, positions.get(partition) ?? 0) as Offset)
  }
  return positions
}

function told(outcome: Outcome): string {
  return 'offset' in outcome ? `${outcome.is}, ${outcome.partition}-${outcome.offset}` : outcome.is
}
