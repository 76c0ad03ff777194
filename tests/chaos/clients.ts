import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { exampleBody, PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import { partitionOf } from '@plant-store/shared/plant/position.ts'
import { createRandom, pick, type Random } from '../simulation/random.ts'
import { TOPIC } from './cluster.ts'
import { type History, largeName } from './history.ts'
import { type Api, TOKEN } from './services.ts'

const OPEN_REQUESTS_MAX = 2_000
/** Share of the creates with a key. */
const KEYED = 0.2
/** Share of the creates with a large name. */
const LARGE = 0.02
/** Share of the creates that use an id that another create has used or is using. */
const CONTESTED = 0.2
/** A contested id is one of the last so many. */
const RECENT_IDS = 20
const RECENT_CREATES = 10_000
/** The share of reads that ask for the newest plant, which the other api may not know yet. */
const NEWEST = 0.5
const UNKNOWN_ID = 0.1
const GIVE_UP_RETRIES_AFTER_MS = 60_000
const LIST_EVERY_MS = 5_000
/** Plants of a page: with few, a page soon starts at a plant that only the window of the api has. */
const LIST_LIMITS = [100, 1_000]
/** Longer than any deadline of the api: a client that waits longer has lost its connection without noticing. */
const RESPONSE_TIMEOUT_MS = 20_000

type Body = { error?: number; name?: string; items?: { id: number; name: string }[]; next?: string }
type Response = { status: number; body: Body; position?: string; retryAfterMs: number }

const partitionOfId = (id: number): number => partitionOf(Buffer.from(String(id)), TOPIC.partitions)

/**
 * Sends `rate` creates and as many reads a second to both apis, and lists, until it is stopped, and records every
 * request. The rate does not depend on the responses: a partition that stands still takes no load from the others.
 * Clients with an `Idempotency-Key` retry as in docs/reference/http-api.md; the others send each request once.
 */
export function startClients(apis: readonly Api[], history: History, { seed, rate }: { seed: number; rate: number }) {
  const open = new Set<Promise<void>>()
  let going = true
  let isResting = false
  let nextId = 0
  let nextName = 0
  const created: { id: number; position: string }[] = []

  async function send(
    api: Api,
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response | undefined> {
    const headers = { authorization: `Bearer ${TOKEN}`, ...init.headers }
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
    try {
      const response = await fetch(`${api.url}${path}`, { ...init, headers, signal })
      const position = response.headers.get('plants-position')
      const retryAfterMs = 1_000 * Number(response.headers.get('retry-after') ?? 1)
      const body = (await response.json()) as Body
      return { status: response.status, body, retryAfterMs, ...(position !== null && { position }) }
    } catch {
      return undefined
    }
  }

  /** Sends a request, and says which process it reached and when. */
  async function timed<T>(api: Api, act: () => Promise<T>) {
    const [startedAt, process] = [history.now(), api.startedAt()]
    const result = await act()
    const times = { api: api.name, startedAt, endedAt: history.now() }
    return { result, requested: { ...times, ...(api.startedAt() === process && { since: history.at(process) }) } }
  }

  async function create(api: Api, id: number, name: string, key?: string): Promise<Response | undefined> {
    const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
    // With a key, a retry at a release that does not accept a field yet would be another event.
    const plant = { ...(key === undefined ? PLANT_EXAMPLES.full : PLANT_EXAMPLES.bare), name }
    const init = { method: 'POST', headers, body: exampleBody(plant, BigInt(id)) }
    const { result, requested } = await timed(api, () => send(api, '/plants', init))
    const asked = { kind: 'create', id, partition: partitionOfId(id), name, keyed: key !== undefined } as const
    history.add({ ...asked, ...requested, ...outcomeOf(result) })
    if (result?.status === 200 && result.position !== undefined) {
      created.push({ id, position: result.position })
      if (created.length > RECENT_CREATES) created.shift()
    }
    return result
  }

  const drawId = (random: Random) =>
    random.chance(CONTESTED) && nextId > 0 ? Math.max(0, nextId - 1 - random.below(RECENT_IDS)) : nextId++

  async function createOne(random: Random): Promise<void> {
    const name = `plant ${nextName++}`
    if (random.chance(LARGE)) await create(pick(apis, random), nextId++, largeName(name))
    else if (random.chance(KEYED)) await createWithKey(random, drawId(random), name)
    else await create(pick(apis, random), drawId(random), name)
  }

  async function createWithKey(random: Random, id: number, name: string): Promise<void> {
    const key = randomUUID()
    const until = history.now() + GIVE_UP_RETRIES_AFTER_MS
    for (let turn = random.below(apis.length); history.now() < until; turn++) {
      const response = await create(apis[turn % apis.length] as Api, id, name, key)
      if (response !== undefined && response.status < 500) return
      await delay(response?.retryAfterMs ?? 1_000)
    }
  }

  async function read(random: Random): Promise<void> {
    const plant = random.chance(NEWEST) ? created.at(-1) : random.pick(created)
    const isUnknown = plant === undefined || random.chance(UNKNOWN_ID)
    const id = isUnknown ? -1 - random.below(RECENT_CREATES) : plant.id
    const sent = isUnknown || random.chance(0.5) ? undefined : plant.position
    const api = pick(apis, random)
    const headers = { ...(sent !== undefined && { 'plants-position': sent }) }
    const { result, requested } = await timed(api, () => send(api, `/plants/${id}`, { headers }))
    const asked = { kind: 'read', id, partition: partitionOfId(id), ...(sent !== undefined && { sent }) } as const
    history.add({ ...asked, ...requested, ...outcomeOf(result) })
  }

  async function listOnce(random: Random): Promise<void> {
    const api = pick(apis, random)
    const limit = pick(LIST_LIMITS, random)
    const { result, requested } = await timed(api, () => listAll(api, limit))
    history.add({ kind: 'list', ...requested, ...result })
  }

  async function listAll(api: Api, limit: number) {
    const items: { id: number; name: string }[] = []
    let cursor: string | undefined = ''
    // A broken api may have no last page.
    while (cursor !== undefined && going) {
      const page = await send(api, `/plants?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      if (page?.status !== 200)
        return { items, isComplete: false, ...(page?.body.error !== undefined && { error: page.body.error }) }
      items.push(...(page.body.items ?? []).map(({ id, name }) => ({ id, name })))
      cursor = page.body.next
    }
    return { items, isComplete: cursor === undefined }
  }

  function start(act: (random: Random) => Promise<void>): void {
    if (open.size >= OPEN_REQUESTS_MAX) return
    const running = act(random).finally(() => open.delete(running))
    open.add(running)
  }

  const random = createRandom(seed)
  const everyMs = 1_000 / rate
  async function pace(): Promise<void> {
    let listAt = 0
    for (let at = history.now(); going; at = Math.max(at + everyMs, history.now())) {
      await delay(Math.max(0, at - history.now()))
      if (isResting) continue
      start(createOne)
      start(read)
      if (at < listAt) continue
      start(listOnce)
      listAt = at + LIST_EVERY_MS
    }
  }
  const paced = pace()

  return {
    /** Sends nothing for this time, after the last response. */
    async rest(ms: number): Promise<void> {
      isResting = true
      await Promise.all(open)
      await delay(ms)
      isResting = false
    },

    /** Resolves when the last response is there. */
    async stop(): Promise<void> {
      going = false
      await paced
      await Promise.all(open)
    },
  }
}

function outcomeOf(response: Response | undefined) {
  if (response === undefined) return {}
  const { status, body, position } = response
  return {
    status,
    ...(body.error !== undefined && { error: body.error }),
    ...(body.name !== undefined && { responseName: body.name }),
    ...(position !== undefined && { position }),
  }
}
