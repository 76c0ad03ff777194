import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createRandom, pick, type Random } from '../simulation/random.ts'
import type { History } from './history.ts'
import { type Api, TOKEN } from './services.ts'

const CREATORS = 8
const KEYED_CREATORS = 4
const READERS = 4
const THINK_MS = 30
/** Of the creates use an id that another create has used or is using. */
const CONTESTED = 0.2
/** A contested id is one of the last so many. */
const RECENT_IDS = 20
const RECENT_CREATES = 1_000
/** Of the reads are of the newest plant, which the other api may not know yet. */
const NEWEST = 0.5
const UNKNOWN_ID = 0.1
const GIVE_UP_RETRIES_AFTER_MS = 60_000
const LIST_EVERY_MS = 5_000
/** Plants of a page: with few, a page soon starts at a plant that only the window of the api has. */
const LIST_LIMITS = [100, 1_000]
/** Longer than any deadline of the api: whoever waits longer has lost the connection without knowing. */
const RESPONSE_TIMEOUT_MS = 20_000

type Body = { error?: number; name?: string; items?: { id: number; name: string }[]; next?: string }
type Response = { status: number; body: Body; position?: string; retryAfterMs: number }

/**
 * Creates, reads and lists on both apis until it is stopped, and records every request. Clients with an
 * `Idempotency-Key` retry as docs/reference/http-api.md tells them to; the others send each request once.
 */
export function startClients(apis: readonly Api[], history: History, seed: number) {
  let going = true
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
    const init = { method: 'POST', headers, body: JSON.stringify({ id, name }) }
    const { result, requested } = await timed(api, () => send(api, '/plants', init))
    history.add({ ...{ kind: 'create', id, name, keyed: key !== undefined }, ...requested, ...outcomeOf(result) })
    if (result?.status === 200 && result.position !== undefined) {
      created.push({ id, position: result.position })
      if (created.length > RECENT_CREATES) created.shift()
    }
    return result
  }

  const drawId = (random: Random) =>
    random.chance(CONTESTED) && nextId > 0 ? Math.max(0, nextId - 1 - random.below(RECENT_IDS)) : nextId++

  async function createOnce(random: Random): Promise<void> {
    await create(pick(apis, random), drawId(random), `plant ${nextName++}`)
  }

  async function createWithKey(random: Random): Promise<void> {
    const [id, name, key] = [drawId(random), `plant ${nextName++}`, randomUUID()]
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
    history.add({ kind: 'read', id, ...(sent !== undefined && { sent }), ...requested, ...outcomeOf(result) })
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

  async function client(number: number, act: (random: Random) => Promise<void>, thinkMs = THINK_MS): Promise<void> {
    const random = createRandom(seed * 1_000 + number)
    while (going) {
      await act(random)
      await delay(random.below(2 * thinkMs))
    }
  }
  const acts = [
    ...Array.from({ length: CREATORS }, () => createOnce),
    ...Array.from({ length: KEYED_CREATORS }, () => createWithKey),
    ...Array.from({ length: READERS }, () => read),
  ]
  const ended = Promise.all([...acts.map((act, n) => client(n, act)), client(acts.length, listOnce, LIST_EVERY_MS)])

  return {
    /** Resolves when the last response is there. */
    async stop(): Promise<void> {
      going = false
      await ended
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
