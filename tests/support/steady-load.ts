import { setTimeout as delay } from 'node:timers/promises'
import { createPlant, errorOf, readPlant, untilStopped } from './client.ts'
import { listAll } from './listing.ts'

const CONNECTIONS = 32
const DUPLICATE_ID = 40003
const DUPLICATE_EVERY = 7
const ABSENT_EVERY = 11
const LIST_EVERY = 1_000
const LISTED_AT_A_TIME = 1_000

type Created = { id: bigint; position: string; url: string }

/**
 * Creates, duplicates, reads and lists on several apis, where each response is known beforehand: nothing may fail. Ids
 * go up from 0; negative ones are never created. Each connection rests before its next create.
 */
export function startSteadyLoad(urls: readonly string[], restMs: number) {
  const wrong: unknown[] = []
  const done = { creates: 0, duplicates: 0, reads: 0, absences: 0, lists: 0 }
  const created: Created[] = []
  let nextList = LIST_EVERY

  function count(kind: keyof typeof done, isRight: boolean, what: object): void {
    done[kind]++
    if (!isRight) wrong.push({ kind, ...what })
  }

  async function step(id: bigint, connection: number): Promise<void> {
    await delay(restMs)
    const [url, other] = [connection, connection + 1].map((n) => urls[n % urls.length]) as [string, string]
    const { response } = await createPlant(url, id, `plant ${id}`)
    if (response?.status !== 200) return void wrong.push({ kind: 'creates', id, response })
    const latest = { id, position: String(response.headers['plants-position']), url }
    created.push(latest)
    done.creates++
    const earlier = created[(done.creates * 7_919) % created.length] ?? latest
    await Promise.all([read(other, latest), read(url, earlier)])
    if (done.creates % DUPLICATE_EVERY === 0) {
      const again = await createPlant(other, earlier.id, 'a second one')
      count('duplicates', errorOf(again.response) === DUPLICATE_ID, again)
    }
    if (done.creates % ABSENT_EVERY === 0) {
      const absent = await readPlant(url, -1n - id)
      count('absences', absent?.status === 404, { id: -1n - id, response: absent })
    }
    if (done.creates >= nextList) {
      // One at a time: an api limits the plants that it lists at once.
      nextList = Number.POSITIVE_INFINITY
      await list(url)
      nextList = done.creates + LIST_EVERY
    }
  }

  /** Another api may not have read this far: the consistency token makes it wait. */
  async function read(url: string, { id, position }: Created): Promise<void> {
    const response = await readPlant(url, id, { 'plants-position': position })
    const { name } = (response?.body ?? {}) as { name?: string }
    count('reads', response?.status === 200 && name === `plant ${id}`, { id, response })
  }

  /** All that this api has answered 200 before has to be in its list, and nothing twice. */
  async function list(url: string): Promise<void> {
    const before = created.filter((plant) => plant.url === url)
    const items = await listAll([url], LISTED_AT_A_TIME).catch((error: Error) => error)
    if (items instanceof Error) return count('lists', false, { error: items })
    const listed = new Set(items.map(({ id }) => id))
    const missing = before.filter(({ id }) => !listed.has(id))
    count('lists', listed.size === items.length && missing.length === 0, { listed: items.length, missing })
  }

  return { done, wrong, ...untilStopped(CONNECTIONS, step) }
}
