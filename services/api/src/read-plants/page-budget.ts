import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Caller } from '../auth/require-access.ts'

export type PageLimits = {
  maxPlants: number
  /** The connection of a client that has not read its page after this time is closed. */
  readTimeoutMs: number
}

/**
 * Bounds the pages in flight. A page costs a thousand times what another response does: work of the event loop and of
 * Redis while it is read, which delays creates, and memory until the client has read it. A page counts until then. A
 * caller can have one page, and further ones up to half of what other callers leave, so that no caller takes it all.
 */
export function createPageBudget({ maxPlants, readTimeoutMs }: PageLimits) {
  let plants = 0
  const plantsOf = new Map<Caller, number>()
  function count(caller: Caller, change: number): void {
    plants += change
    const own = (plantsOf.get(caller) ?? 0) + change
    if (own === 0) plantsOf.delete(caller)
    else plantsOf.set(caller, own)
  }

  return {
    /** Calls `makePage` for a page of up to `limit` plants; returns undefined when the budget has no room for it. */
    run<T>(caller: Caller, limit: number, response: ServerResponse, makePage: () => Promise<T>) {
      const own = plantsOf.get(caller) ?? 0
      const isInShare = own === 0 || own + limit <= (maxPlants - (plants - own)) / 2
      if (plants + limit > maxPlants || !isInShare) return undefined
      count(caller, limit)
      const closed = response.closed ? Promise.resolve() : once(response, 'close')
      const page = makePage()
      void Promise.allSettled([page, closed]).then(() => {
        count(caller, -limit)
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
