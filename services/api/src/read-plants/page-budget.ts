import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

export type PageLimits = {
  /** Most plants that pages under way may have together. */
  maxPlants: number
  /** A client that has not taken its page after so long is cut off. */
  takenWithinMs: number
}

/**
 * Bounds what pages cost: a thousand times what another answer does, in work for the event loop and for Redis while they
 * are made, which creates wait for, and in memory until their clients have taken them. A page is under way for both.
 */
export function createPagesUnderWay({ maxPlants, takenWithinMs }: PageLimits) {
  let plants = 0
  return {
    /** Has a page made that may have so many plants, if there is room for it; undefined if there is none. */
    make<T>(limit: number, response: ServerResponse, make: () => Promise<T>): Promise<T> | undefined {
      if (plants + limit > maxPlants) return undefined
      plants += limit
      const left = response.closed ? Promise.resolve() : once(response, 'close')
      const made = make()
      void Promise.allSettled([made, left]).then(() => {
        plants -= limit
      })
      void made.then(
        () => cutOff(response, takenWithinMs),
        () => undefined,
      )
      return made
    },
  }
}

function cutOff(response: ServerResponse, afterMs: number): void {
  if (response.closed) return
  const timer = setTimeout(() => response.destroy(), afterMs)
  response.once('close', () => clearTimeout(timer))
}
