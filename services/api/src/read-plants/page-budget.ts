import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

export type PageLimits = {
  /** Most plants of all pages in flight together. */
  maxPlants: number
  /** The connection of a client that has not read its page after this time is closed. */
  readTimeoutMs: number
}

/**
 * Bounds the pages in flight. A page costs a thousand times what another response does: work of the event loop and of
 * Redis while it is read, which delays creates, and memory until the client has read it. A page counts until then.
 */
export function createPageBudget({ maxPlants, readTimeoutMs }: PageLimits) {
  let plants = 0
  return {
    /** Calls `makePage` for a page of up to `limit` plants; returns undefined when the budget has no room for it. */
    run<T>(limit: number, response: ServerResponse, makePage: () => Promise<T>): Promise<T> | undefined {
      if (plants + limit > maxPlants) return undefined
      plants += limit
      const closed = response.closed ? Promise.resolve() : once(response, 'close')
      const page = makePage()
      void Promise.allSettled([page, closed]).then(() => {
        plants -= limit
      })
      void page.then(
        () => closeAfter(response, readTimeoutMs),
        () => undefined,
      )
      return page
    },
  }
}

function closeAfter(response: ServerResponse, timeoutMs: number): void {
  if (response.closed) return
  const timer = setTimeout(() => response.destroy(), timeoutMs)
  response.once('close', () => clearTimeout(timer))
}
