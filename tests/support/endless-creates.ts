import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Create, createPlant, untilStopped } from './client.ts'
import { eventually } from './eventually.ts'

const CONNECTIONS = 16
/** Few, and each rests before a create, to leave CPU time for the processes that restart meanwhile. */
const PATIENT_CONNECTIONS = 4
const REST_MS = 40
const PATIENCE_MS = 60_000

/** Creates plants of new ids, from 0 on, on these apis in turn, until it is stopped. */
export const startCreates = (...urls: readonly string[]) =>
  startLoad(CONNECTIONS, (id, connection) => createPlant(urls[connection % urls.length] as string, id, `plant ${id}`))

/** The same, but each create is retried as described in docs/reference/http-api.md, for up to a minute. */
export const startPatientCreates = (...urls: readonly string[]) =>
  startLoad(PATIENT_CONNECTIONS, async (id, connection) => {
    await delay(REST_MS)
    const headers = { 'idempotency-key': randomUUID() }
    const endsAt = performance.now() + PATIENCE_MS
    for (let attempt = connection; ; attempt++) {
      const create = await createPlant(urls[attempt % urls.length] as string, id, `plant ${id}`, headers)
      const { response } = create
      if ((response !== undefined && response.status < 500) || performance.now() > endsAt) return create
      await delay(1_000 * Number(response?.headers['retry-after'] ?? 1))
    }
  })

function startLoad(connections: number, createOne: (id: bigint, connection: number) => Promise<Create>) {
  let created = 0

  const { stop } = untilStopped(connections, async (id, connection) => {
    const create = await createOne(id, connection)
    if (create.response?.status === 200) created++
    return create
  })

  return {
    /** Resolves when `count` more creates got a 200. */
    async untilMore(count: number): Promise<void> {
      const goal = created + count
      await eventually(() => expect(created).toBeGreaterThanOrEqual(goal))
    },

    /** Resolves with all creates when the last one has its response. */
    stop,
  }
}
