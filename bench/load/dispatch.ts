/**
 * Assigns requests to connections, one at a time on each. The time at which a request is due identifies it. Its latency
 * counts from then on, also while it waits for a connection. A stall of the server thus counts for all requests that
 * are due meanwhile, not only for those in flight (coordinated omission).
 */
export function createDispatch(maxConnections: number) {
  const due = new Float64Array(maxConnections)
  const free = Array.from({ length: maxConnections }, (_, connection) => maxConnections - 1 - connection)
  let waiting: number[] = []
  let gone = 0

  return {
    /** A request is due. Returns the free connection that was used last; undefined when the request has to wait. */
    arrive(dueMs: number): number | undefined {
      const connection = free.pop()
      if (connection === undefined) waiting.push(dueMs)
      else due[connection] = dueMs
      return connection
    },

    /** When the request in flight on this connection was due. */
    dueOf: (connection: number): number => due[connection] as number,

    /** The connection has its response. True when it now takes the request that has waited longest. */
    answered(connection: number): boolean {
      if (gone === waiting.length) {
        free.push(connection)
        return false
      }
      due[connection] = waiting[gone++] as number
      if (gone > waiting.length / 2) {
        waiting = waiting.slice(gone)
        gone = 0
      }
      return true
    },

    /** The number of requests in flight on a connection, and of those that wait for one. */
    out: (): number => maxConnections - free.length,
    waiting: (): number => waiting.length - gone,

    /** Drops the waiting requests. Returns their number. */
    dropWaiting(): number {
      const dropped = waiting.length - gone
      waiting = []
      gone = 0
      return dropped
    },
  }
}
