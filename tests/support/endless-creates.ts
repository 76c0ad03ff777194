import { expect, onTestFinished, vi } from 'vitest'
import { type Create, createPlant, idsWhile, onConnections } from './client.ts'

const CONNECTIONS = 16
const WAIT = { timeout: 60_000, interval: 5 }

/** Creates plants of new ids, from 0 on, on these apis in turn, until it is stopped. */
export function startCreates(...urls: readonly string[]) {
  const creates: Create[] = []
  let created = 0
  let going = true

  const ids = idsWhile(() => going)
  const clients = onConnections(CONNECTIONS, ids, async (id, connection) => {
    const create = await createPlant(urls[connection % urls.length] as string, id, `plant ${id}`)
    creates.push(create)
    if (create.response?.status === 200) created++
  })
  async function stop(): Promise<Create[]> {
    going = false
    await clients
    return creates
  }
  onTestFinished(async () => {
    await stop()
  })

  return {
    /** Resolves when `count` more creates got a 200. */
    async untilMore(count: number): Promise<void> {
      const goal = created + count
      await vi.waitFor(() => expect(created).toBeGreaterThanOrEqual(goal), WAIT)
    },

    /** Resolves with all creates when the last one has its response. */
    stop,
  }
}
