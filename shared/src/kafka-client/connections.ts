// How a client of kafkajs connects, logs in, is refused, and disconnects.

/** The part of a short session that passes before the next login. */
const SESSION_PART = 0.75
const LONGEST_REST_MS = 10_000
const REFUSAL = /_AUTHORIZATION_FAILED$/

type Connection = { sessionLifetime: { toNumber(): number }; reauthenticationThreshold: number }

/**
 * kafkajs logs in again 10 s before the end of a session. A session of 10 s or less then never begins: each request
 * logs in again, until the broker refuses it with ILLEGAL_SASL_STATE. This logs in again 10 s before the end of a
 * session, or a quarter of the session before it if that is less. Brokers accept one login a second.
 */
export function withAnySession<C extends new (options: object) => Connection>(Original: C): C {
  class SessionConnection extends (Original as new (options: object) => Connection) {}
  Object.defineProperty(SessionConnection.prototype, 'reauthenticationThreshold', {
    get(this: Connection) {
      // kafkajs calculates with whole numbers only.
      return Math.min(LONGEST_REST_MS, Math.ceil(this.sessionLifetime.toNumber() * (1 - SESSION_PART)))
    },
    set() {
      // The constructor of kafkajs sets its own.
    },
  })
  return SessionConnection as C
}

type Broker = { versions: unknown; connectionPool: { isConnected(): boolean } }

/**
 * kafkajs keeps the API versions of a broker when the connection is lost. After an upgrade of the broker at the same
 * address, this asks for the new ones.
 */
export function withFreshVersions(connect: (this: Broker) => Promise<void>) {
  return function connectWithFreshVersions(this: Broker): Promise<void> {
    if (!this.connectionPool.isConnected()) this.versions = null
    return connect.call(this)
  }
}

/** An error of kafkajs or several; `type` is the name of the broker's error code. */
type BrokerError = { type?: string; cause?: BrokerError; errors?: BrokerError[]; apiKey?: number }
type Call = { request: { apiKey: number } }

/**
 * Adds the API key of the request to the error codes of the broker: TOPIC_AUTHORIZATION_FAILED alone does not tell
 * which right is missing.
 */
export function withApiKeys(send: (this: unknown, call: Call) => Promise<unknown>) {
  return function sendWithApiKey(this: unknown, call: Call): Promise<unknown> {
    return send.call(this, call).catch((error: BrokerError) => {
      for (const each of [error, ...(error.errors ?? [])])
        if (each.type !== undefined) each.apiKey ??= call.request.apiKey
      throw error
    })
  }
}

type UseBroker = (parameters: object) => Promise<unknown>

/**
 * kafkajs drops the errors of all brokers that it tries. So a missing right looks as if there was no coordinator, or no
 * metadata. This throws the refusal when no broker responds otherwise.
 */
export function withRefusals(withBroker: (this: unknown, use: UseBroker) => Promise<unknown>) {
  return async function withBrokerOrRefusal(this: unknown, use: UseBroker): Promise<unknown> {
    let refusal: BrokerError | undefined
    const result = await withBroker.call(this, async (parameters) => {
      try {
        return await use(parameters)
      } catch (error) {
        if (isRefusal(error as BrokerError)) refusal = error as BrokerError
        throw error
      }
    })
    if (result === null && refusal !== undefined) throw refusal
    return result
  }
}

const isRefusal = (error: BrokerError | undefined): boolean =>
  error !== undefined && (REFUSAL.test(error.type ?? '') || isRefusal(error.cause))

type ConnectionPool = { host: string; port: number; getConnection(index?: number): Promise<unknown> }
/** Makes the connection pools of one client: of a producer, a consumer or an admin. */
type PoolBuilder = { isClosed?: boolean; build(destination?: object): Promise<ConnectionPool> }
type Cluster = { connectionPoolBuilder: PoolBuilder; connect(): Promise<void>; disconnect(): Promise<void> }
type ErrorClass = new (message: string, options: { broker: string }) => Error & { retriable: boolean }

/**
 * kafkajs connects again for a request that began before `disconnect` and needs a connection after it. Nothing ends
 * that connection, and it keeps the process running. This rejects such a request, until the client is connected again.
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
