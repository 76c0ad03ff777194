type ConnectionPool = { host: string; port: number; getConnection(index?: number): Promise<unknown> }
/** Makes the connection pools of one client: of a producer, a consumer or an admin. */
type PoolBuilder = { isClosed?: boolean; build(destination?: object): Promise<ConnectionPool> }
type Cluster = { connectionPoolBuilder: PoolBuilder; connect(): Promise<void>; disconnect(): Promise<void> }
type ErrorClass = new (message: string, options: { broker: string }) => Error & { retriable: boolean }

/**
 * kafkajs connects again for a request that began before `disconnect` and needs a connection after it. Nothing ends that
 * connection, and it keeps the process running. This rejects such a request, until the client is connected again.
 */
export function withFinalDisconnect(createBuilder: (options: object) => PoolBuilder, ConnectionError: ErrorClass) {
  return function createFinalBuilder(options: object): PoolBuilder {
    const original = createBuilder(options)
    const builder: PoolBuilder = {
      async build(destination) {
        const pool = await original.build(destination)
        const { getConnection } = pool
        return Object.assign(pool, {
          async getConnection(index?: number) {
            if (!builder.isClosed) return getConnection.call(pool, index)
            const error = new ConnectionError('the client is disconnected', { broker: `${pool.host}:${pool.port}` })
            throw Object.assign(error, { retriable: false })
          },
        })
      },
    }
    return builder
  }
}

/** The two methods by which each client of kafkajs begins and ends. */
export function withClosedPools({ connect, disconnect }: Cluster) {
  return {
    connect(this: Cluster): Promise<void> {
      this.connectionPoolBuilder.isClosed = false
      return connect.call(this)
    },
    disconnect(this: Cluster): Promise<void> {
      this.connectionPoolBuilder.isClosed = true
      return disconnect.call(this)
    },
  }
}
