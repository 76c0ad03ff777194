import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { exampleBody, PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import { partitionOf } from '@plant-store/shared/plant/position.ts'
import { createRandom, pick } from '../simulation/random.ts'
import { TOPIC } from './cluster.ts'
import { largeName, type Request, type Requested, type Responded } from './history.ts'
import { type Api, TOKEN } from './services.ts'

const OPEN_REQUESTS_MAX = 2_000
/** Share of the creates with a key. */
const KEYED = 0.2
/** Share of the creates with a large name. */
const LARGE = 0.02
/** Share of the creates that use an id that another create has used or is using: one of the last so many. */
const CONTESTED = 0.2
const RECENT_IDS = 20
/** The share of reads that ask for the newest plant, which the other api may not know yet. */
const NEWEST = 0.5
const UNKNOWN_ID = 0.1
const UNKNOWN_IDS = 10_000
const GIVE_UP_RETRIES_AFTER_MS = 60_000
const LIST_EVERY_MS = 5_000
/** Plants of a page: with few, a page soon starts at a plant that only the window of the api has. */
const LIST_LIMITS = [100, 1_000]
/** Longer than any deadline of the api: a client that waits longer has lost its connection without noticing. */
const RESPONSE_TIMEOUT_MS = 20_000

type Item = { id: number; name: string }
type Body = { error?: number; name?: string; items?: Item[]; next?: string }

const partitionOfId = (id: number): number => partitionOf(Buffer.from(String(id)), TOPIC.partitions)

/** Resolves to the response, or to undefined if none came. */
async function send(api: Api, path: string, headers: Record<string, string> = {}, body?: string) {
  try {
    const response = await fetch(`${api.url}${path}`, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body }
  } catch {
    return undefined
  }
}

/** The part of a response that the history has. */
function noted(response: Awaited<ReturnType<typeof send>>): Responded {
  if (response === undefined) return {}
  const { status, headers, body } = response
  const position = headers.get('plants-position')
  return {
    status,
    ...(body.error !== undefined && { error: body.error }),
    ...(body.name !== undefined && { responseName: body.name }),
    ...(position !== null && { position }),
  }
}

/** Acts at an api, and says when, and which process of the api responded. */
async function timed<T>(api: Api, act: () => Promise<T>): Promise<[T, Requested]> {
  const [startedAt, since] = [performance.now(), api.startedAt()]
  const result = await act()
  const requested = { api: api.name, startedAt, endedAt: performance.now() }
  return [result, { ...requested, ...(api.startedAt() === since && { since }) }]
}

/**
 * Sends `rate` creates and as many reads a second, and lists, to the apis until it is stopped, and adds every request
 * to the history. The rate does not depend on the responses: a partition that stands still takes no load from the
 * others. Clients with an `Idempotency-Key` retry as in docs/reference/http-api.md; the others send each request once.
 */
export function startClients(apis: readonly Api[], history: Request[], options: { seed: number; rate: number }) {
  const random = createRandom(options.seed)
  const open = new Set<Promise<void>>()
  const created: { id: number; position: string }[] = []
  let going = true
  let isResting = false
  let nextId = 0
  let nextName = 0

  async function create(api: Api, id: number, name: string, key?: string) {
    const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
    // With a key, a retry at a release that does not accept a field yet would be another event.
    const plant = { ...(key === undefined ? PLANT_EXAMPLES.full : PLANT_EXAMPLES.bare), name }
    const [response, requested] = await timed(api, () => send(api, '/plants', headers, exampleBody(plant, BigInt(id))))
    const outcome = noted(response)
    history.push({ kind: 'create', id, partition: partitionOfId(id), name, ...requested, ...outcome })
    if (outcome.status === 200 && outcome.position !== undefined) created.push({ id, position: outcome.position })
    return response
  }

  async function createOne(): Promise<void> {
    const name = `plant ${nextName++}`
    if (random.chance(LARGE)) return void (await create(pick(apis, random), nextId++, largeName(name)))
    const key = random.chance(KEYED) ? randomUUID() : undefined
    const isContested = random.chance(CONTESTED) && nextId > 0
    const id = isContested ? Math.max(0, nextId - 1 - random.below(RECENT_IDS)) : nextId++
    const until = performance.now() + GIVE_UP_RETRIES_AFTER_MS
    for (let turn = random.below(apis.length); performance.now() < until; turn++) {
      const response = await create(apis[turn % apis.length] as Api, id, name, key)
      if (key === undefined || (response !== undefined && response.status < 500)) return
      await delay(1_000 * Number(response?.headers.get('retry-after') ?? 1))
    }
  }

  async function read(): Promise<void> {
    const plant = random.chance(NEWEST) ? created.at(-1) : random.pick(created)
    const isUnknown = plant === undefined || random.chance(UNKNOWN_ID)
    const id = isUnknown ? -1 - random.below(UNKNOWN_IDS) : plant.id
    const sent = isUnknown || random.chance(0.5) ? undefined : plant.position
    const headers = sent === undefined ? undefined : { 'plants-position': sent }
    const api = pick(apis, random)
    const [response, requested] = await timed(api, () => send(api, `/plants/${id}`, headers))
    const asked = { kind: 'read', id, partition: partitionOfId(id), ...(sent !== undefined && { sent }) } as const
    history.push({ ...asked, ...requested, ...noted(response) })
  }

  async function list(): Promise<void> {
    const [api, limit] = [pick(apis, random), pick(LIST_LIMITS, random)]
    const items: Item[] = []
    const [isComplete, requested] = await timed(api, async () => {
      let cursor: string | undefined = ''
      // A broken api may have no last page.
      while (cursor !== undefined && going) {
        const page = await send(api, `/plants?limit=${limit}${cursor && `&cursor=${cursor}`}`)
        if (page?.status !== 200) return false
        items.push(...(page.body.items ?? []).map(({ id, name }) => ({ id, name })))
        cursor = page.body.next
      }
      return cursor === undefined
    })
    history.push({ kind: 'list', items, isComplete, ...requested })
  }

  function start(act: () => Promise<void>): void {
    if (open.size >= OPEN_REQUESTS_MAX) return
    const running = act().finally(() => open.delete(running))
    open.add(running)
  }

  async function pace(): Promise<void> {
    let listAt = 0
    for (let at = performance.now(); going; at = Math.max(at + 1_000 / options.rate, performance.now())) {
      await delay(Math.max(0, at - performance.now()))
      if (isResting) continue
      start(createOne)
      start(read)
      if (at < listAt) continue
      start(list)
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
