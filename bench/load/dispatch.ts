/**
 * Which request goes out on which connection, one at a time on each. A request is known by the time it is due: from then on
 * its latency counts, also while it waits for a connection. A stall of the server thus counts for all
 * who would have come meanwhile, not only for those that it met (coordinated omission).
 */
export function createDispatch(maxConnections: number) {
  const due = new Float64Array(maxConnections)
  const free = Array.from({ length: maxConnections }, (_, connection) => maxConnections - 1 - connection)
  let waiting: number[] = []
  let gone = 0

  return {
    /** A request is due: the connection that it goes out on, the one last used; undefined when all are busy and it waits. */
    arrive(dueMs: number): number | undefined {
      const connection = free.pop()
      if (connection === undefined) waiting.push(dueMs)
      else due[connection] = dueMs
      return connection
    },

    /** When the request was due that is out on this connection. */
    dueOf: (connection: number): number => due[connection] as number,

    /** The connection has its answer: true when it takes the request that waits longest. */
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

    /** Requests without an answer: out on a connection, and waiting for one. */
    out: (): number => maxConnections - free.length,
    waiting: (): number => waiting.length - gone,

    /** Gives up those that wait; tells how many. */
    dropWaiting(): number {
      const dropped = waiting.length - gone
      waiting = []
      gone = 0
      return dropped
    },
  }
}
