import type { CreateRequest, ListRequest, ReadRequest, Request } from './history.ts'

/** A claim as it is in the log. */
export type LoggedClaim = { partition: number; offset: number; id: number; eventId: string; name: string | undefined }
/** An event as delivered to a consumer. */
export type Delivery = { partition: number; offset: number; eventId: string }

export type Evidence = {
  requests: readonly Request[]
  /** All claims, in log order within each partition. */
  log: readonly LoggedClaim[]
  deliveries: ReadonlyMap<string, readonly Delivery[]>
}

const DUPLICATE_ID = 40003
const OUTCOME_UNKNOWN = 50302
/** Enough to see what happened; a broken guarantee often breaks for thousands of requests. */
const MAX_VIOLATIONS = 100

/**
 * Compares the responses to clients and the deliveries to consumers with the log, and returns each contradiction as a
 * sentence. The rules are those of docs/explanation/guarantees.md, written a second time: no code of the product
 * decides here.
 */
export function judge(evidence: Evidence): string[] {
  const violations: string[] = []
  const broken = (rule: string, request: object) => {
    if (violations.length < MAX_VIOLATIONS) violations.push(`${rule}: ${JSON.stringify(request)}`)
  }
  const winners = winnersOf(evidence.log)
  const attempts = attemptsOf(evidence.requests)
  const shown = createShownPlants()

  judgeLog(evidence.log, attempts, broken)
  // In the order of the responses: the first time that `shown` notes for a plant is the earliest.
  const ended = [...evidence.requests].sort((a, b) => a.endedAt - b.endedAt)
  for (const request of ended) if (request.kind === 'create') judgeCreate(request, winners, attempts, broken)
  for (const request of ended) shown.add(request)
  for (const request of ended) {
    if (request.kind === 'read') judgeRead(request, winners, shown, broken)
    if (request.kind === 'list') judgeList(request, winners, shown, broken)
  }
  for (const [consumer, deliveries] of evidence.deliveries) judgeDeliveries(consumer, deliveries, winners, broken)
  return violations
}

type Broken = (rule: string, request: object) => void
type Winners = ReadonlyMap<number, LoggedClaim>
type Attempts = ReadonlyMap<string, readonly CreateRequest[]>

/** The first claim of each id. */
function winnersOf(log: readonly LoggedClaim[]): Winners {
  const winners = new Map<number, LoggedClaim>()
  for (const claim of log) if (!winners.has(claim.id)) winners.set(claim.id, claim)
  return winners
}

function attemptsOf(requests: readonly Request[]): Attempts {
  const creates = requests.filter((request) => request.kind === 'create')
  return Map.groupBy(creates, ({ name }) => name)
}

function judgeLog(log: readonly LoggedClaim[], attempts: Attempts, broken: Broken): void {
  const eventIds = new Map<string, string>()
  for (const claim of log) {
    const asked = claim.name === undefined ? undefined : attempts.get(claim.name)
    if (claim.name === undefined || asked === undefined || asked[0]?.id !== claim.id) {
      broken('the log has a plant that no client asked for', claim)
      continue
    }
    const eventId = eventIds.get(claim.name) ?? claim.eventId
    eventIds.set(claim.name, eventId)
    if (eventId !== claim.eventId) broken('one plant has two event ids', claim)
    if (asked.every(isNotStored)) broken('every response said that nothing was stored, but the log has it', claim)
  }
}

/** True if the response says that this attempt has written nothing. */
const isNotStored = ({ status, error }: CreateRequest) =>
  status !== undefined && status !== 200 && error !== DUPLICATE_ID && error !== OUTCOME_UNKNOWN

function judgeCreate(request: CreateRequest, winners: Winners, attempts: Attempts, broken: Broken): void {
  const { status, error, id, name, position } = request
  const winner = winners.get(id)
  if (status === 200) {
    if (winner?.name !== name) broken('200 for a plant that does not have its id', { request, winner })
    else if (position !== `${winner.partition}-${winner.offset}`) broken('a wrong position', { request, winner })
    if (request.responseName !== name) broken('the response to a create has another plant', request)
  } else if (error === DUPLICATE_ID) {
    const winning = winner?.name === undefined ? [] : (attempts.get(winner.name) ?? [])
    if (winner === undefined || winner.name === name) broken('a duplicate of nothing', { request, winner })
    else if (!winning.some(({ startedAt }) => startedAt < request.endedAt))
      broken('a duplicate before the winner was sent', { request, winner })
  }
}

function judgeRead(request: ReadRequest, winners: Winners, shown: Shown, broken: Broken): void {
  const { status, id, responseName, sent } = request
  const winner = winners.get(id)
  if (status === 200 && winner?.name !== responseName)
    broken('a read shows another plant than the log', { request, winner })
  if (status !== 404 || winner === undefined) return
  const [partition, offset] = (sent ?? '').split('-').map(Number)
  if (partition === request.partition && (offset as number) >= winner.offset)
    broken('404 for a plant that the position covers', { request, winner })
  if (shown.wasBefore(request, id))
    broken('404 for a plant that this api had shown or found in the log', { request, winner })
}

function judgeList(request: ListRequest, winners: Winners, shown: Shown, broken: Broken): void {
  const { items, ...list } = request
  const listed = new Set<number>()
  const lastOffsets = new Map<number, number>()
  for (const item of items) {
    const winner = winners.get(item.id)
    if (winner === undefined || winner.name !== item.name)
      broken('a list has another plant than the log', { list, item })
    else if (winner.offset <= (lastOffsets.get(winner.partition) ?? -1))
      broken('a list is not in log order', { list, item })
    else lastOffsets.set(winner.partition, winner.offset)
    if (listed.has(item.id)) broken('a list has a plant twice', { list, item })
    listed.add(item.id)
  }
  if (!request.isComplete) return
  for (const id of shown.allBefore(request))
    if (!listed.has(id)) broken('a list omits a plant that its api had shown or found in the log', { list, id })
}

type Shown = ReturnType<typeof createShownPlants>

/** Which plants were shown, when first, and by which api. */
function createShownPlants() {
  const byAny = new Map<number, number>()
  const byApi = new Map<string, Map<number, number>>()

  function show(api: string, id: number, at: number): void {
    const byThis = byApi.get(api) ?? new Map<number, number>()
    byApi.set(api, byThis)
    // Requests come in the order of their ends: the first one is the earliest.
    for (const firsts of [byAny, byThis]) if (!firsts.has(id)) firsts.set(id, at)
  }

  /**
   * Plants that the responding process must know: shown earlier by its api, also in other processes, or by any api
   * before this process started, because the log had them then.
   */
  function* known({ api, startedAt, since = -Infinity }: Request): Generator<[Map<number, number>, number]> {
    yield [byApi.get(api) ?? new Map(), startedAt]
    yield [byAny, since]
  }

  return {
    add(request: Request): void {
      const { api, endedAt } = request
      if (request.kind === 'list') for (const { id } of request.items) show(api, id, endedAt)
      else if (request.status === 200 || request.error === DUPLICATE_ID) show(api, request.id, endedAt)
    },

    wasBefore: (request: Request, id: number): boolean =>
      known(request).some(([firsts, before]) => (firsts.get(id) ?? Infinity) < before),

    allBefore: (request: Request): Iterable<number> =>
      known(request).flatMap(([firsts, before]) => [...firsts].filter(([, at]) => at < before).map(([id]) => id)),
  }
}

function judgeDeliveries(consumer: string, deliveries: readonly Delivery[], winners: Winners, broken: Broken): void {
  const expected = new Map([...winners.values()].map((claim) => [`${claim.partition}-${claim.offset}`, claim.eventId]))
  const missing = new Set(expected.keys())
  for (const delivery of deliveries) {
    const at = `${delivery.partition}-${delivery.offset}`
    if (expected.get(at) !== delivery.eventId) broken(`${consumer} was given a void claim`, delivery)
    missing.delete(at)
  }
  for (const at of missing) broken(`${consumer} was not given a plant`, { at })
}
