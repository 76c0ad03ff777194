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

/** True if the response says that this attempt has written nothing. */
const isNotStored = ({ status, error }: CreateRequest) =>
  status !== undefined && status !== 200 && error !== DUPLICATE_ID && error !== OUTCOME_UNKNOWN

/**
 * Compares the responses to clients and the deliveries to consumers with the log, and returns each contradiction as a
 * sentence. The rules are those of docs/explanation/guarantees.md, written a second time: no code of the product
 * decides here.
 */
export function judge({ requests, log, deliveries }: Evidence): string[] {
  const violations: string[] = []
  const broken = (rule: string, evidence: object) => {
    if (violations.length < MAX_VIOLATIONS) violations.push(`${rule}: ${JSON.stringify(evidence)}`)
  }
  /** The first claim of each id. */
  const winners = new Map<number, LoggedClaim>()
  for (const claim of log) if (!winners.has(claim.id)) winners.set(claim.id, claim)
  const attempts = Map.groupBy(
    requests.filter((request) => request.kind === 'create'),
    ({ name }) => name,
  )
  const shown = firstShown(requests)
  /**
   * True if the responding process must know the plant: its api had shown it earlier, also in another process, or any
   * api before this process started, because the log had it then.
   */
  const knows = ({ api, startedAt, since = -Infinity }: Request, id: number) =>
    (shown.get(`${id} ${api}`) ?? Infinity) < startedAt || (shown.get(`${id}`) ?? Infinity) < since

  const eventIds = new Map<string, string>()
  for (const claim of log) {
    const asked = attempts.get(claim.name ?? '')
    if (claim.name === undefined || asked?.[0]?.id !== claim.id) {
      broken('the log has a plant that no client asked for', claim)
      continue
    }
    const eventId = eventIds.get(claim.name) ?? claim.eventId
    eventIds.set(claim.name, eventId)
    if (eventId !== claim.eventId) broken('one plant has two event ids', claim)
    if (asked.every(isNotStored)) broken('every response said that nothing was stored, but the log has it', claim)
  }

  function judgeCreate(request: CreateRequest): void {
    const { status, error, id, name, position } = request
    const winner = winners.get(id)
    if (status === 200) {
      if (winner?.name !== name) broken('200 for a plant that does not have its id', { request, winner })
      else if (position !== `${winner.partition}-${winner.offset}`) broken('a wrong position', { request, winner })
      if (request.responseName !== name) broken('the response to a create has another plant', request)
    } else if (error === DUPLICATE_ID) {
      const winning = attempts.get(winner?.name ?? '') ?? []
      if (winner === undefined || winner.name === name) broken('a duplicate of nothing', { request, winner })
      else if (!winning.some(({ startedAt }) => startedAt < request.endedAt))
        broken('a duplicate before the winner was sent', { request, winner })
    }
  }

  function judgeRead(request: ReadRequest): void {
    const { status, id, responseName, sent } = request
    const winner = winners.get(id)
    if (status === 200 && winner?.name !== responseName)
      broken('a read shows another plant than the log', { request, winner })
    if (status !== 404 || winner === undefined) return
    const [partition, offset] = (sent ?? '').split('-').map(Number)
    if (partition === request.partition && (offset as number) >= winner.offset)
      broken('404 for a plant that the position covers', { request, winner })
    if (knows(request, id)) broken('404 for a plant that this api had shown or found in the log', { request, winner })
  }

  function judgeList(request: ListRequest): void {
    const { items, ...list } = request
    const listed = new Set<number>()
    const lastOffsets = new Map<number, number>()
    for (const item of items) {
      const winner = winners.get(item.id)
      if (winner?.name !== item.name) broken('a list has another plant than the log', { list, item })
      else if (winner.offset <= (lastOffsets.get(winner.partition) ?? -1))
        broken('a list is not in log order', { list, item })
      else lastOffsets.set(winner.partition, winner.offset)
      if (listed.has(item.id)) broken('a list has a plant twice', { list, item })
      listed.add(item.id)
    }
    if (!request.isComplete) return
    for (const id of winners.keys())
      if (knows(request, id) && !listed.has(id))
        broken('a list omits a plant that its api had shown or found in the log', { list, id })
  }

  function judgeDeliveries(consumer: string, delivered: readonly Delivery[]): void {
    const missing = new Map([...winners.values()].map((claim) => [`${claim.partition}-${claim.offset}`, claim]))
    const expected = new Map(missing)
    for (const delivery of delivered) {
      const at = `${delivery.partition}-${delivery.offset}`
      if (expected.get(at)?.eventId !== delivery.eventId) broken(`${consumer} was given a void claim`, delivery)
      missing.delete(at)
    }
    for (const at of missing.keys()) broken(`${consumer} was not given a plant`, { at })
  }

  for (const request of requests) {
    if (request.kind === 'create') judgeCreate(request)
    else if (request.kind === 'read') judgeRead(request)
    else judgeList(request)
  }
  for (const [consumer, delivered] of deliveries) judgeDeliveries(consumer, delivered)
  return violations
}

/** When a plant was first shown, by its id, and by id and api. */
function firstShown(requests: readonly Request[]): ReadonlyMap<string, number> {
  const shown = new Map<string, number>()
  for (const request of requests) {
    const { api, endedAt } = request
    const isShown = request.kind !== 'list' && (request.status === 200 || request.error === DUPLICATE_ID)
    const ids = request.kind === 'list' ? request.items.map(({ id }) => id) : isShown ? [request.id] : []
    for (const key of ids.flatMap((id) => [`${id}`, `${id} ${api}`]))
      shown.set(key, Math.min(shown.get(key) ?? Infinity, endedAt))
  }
  return shown
}
