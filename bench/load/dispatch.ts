/**
 * Assigns requests to connections, one at a time on each. The latency of a request counts from the time at which it is
 * due, also while it waits for a connection. A stall of the server thus counts for all requests that are due meanwhile,
 * not only for those in flight (coordinated omission).
 */
export function createDispatch<Connection>(
  connections: readonly Connection[],
  send: (connection: Connection, dueMs: number) => void,
) {
  const free = [...connections]
  const waiting: number[] = []
  let taken = 0

  return {
    /** A request is due: it takes the free connection that was used last, or an unused one, or it waits. */
    arrive(dueMs: number): void {
      const connection = free.pop()
      if (connection === undefined) waiting.push(dueMs)
      else send(connection, dueMs)
    },

    /** The connection has its response. True when it now takes the request that has waited longest. */
    answered(connection: Connection): boolean {
      const dueMs = waiting[taken]
      if (dueMs === undefined) {
        free.push(connection)
        return false
      }
      taken++
      send(connection, dueMs)
      return true
    },

    /** The number of requests in flight, and of those that wait. */
    out: (): number => connections.length - free.length,
    waiting: (): number => waiting.length - taken,

    /** Drops the waiting requests. Returns their number. */
    dropWaiting(): number {
      const dropped = waiting.length - taken
      waiting.length = taken
      return dropped
    },
  }
}
