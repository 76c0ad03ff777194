import type { Socket } from 'node:net'
import type { Address, Broker, Call, Cluster, ConnectionPool, PoolBuilder, PooledConnection } from './kafkajs-parts.ts'

// The connections of a client of kafkajs: how they begin, log in and end.

/** The part of a short session that passes before the next login. */
const SESSION_PART = 0.75
const LONGEST_REST_MS = 10_000

const [CONNECTED, DISCONNECTED] = ['connected', 'disconnected']
const SIZE_BYTES = 4
const [SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE] = [17, 18, 36]
const BEFORE_USE = [API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE]
const TIMED_OUT = 'ETIMEDOUT'

/** An error of kafkajs or several; `type` is the name of the broker's error code. */
type BrokerError = Error & {
  type?: string
  code?: unknown
  /** When the request was sent, in milliseconds since 1970 by a clock that does not jump. */
  sentAt?: number
  errors?: BrokerError[]
  apiKey?: number
}
type ErrorClass = new (
  message: string,
  options: { broker?: string; code?: unknown; host?: string; port?: number },
) => Error
type Errors = { KafkaJSConnectionError: ErrorClass; KafkaJSConnectionClosedError: ErrorClass }

type Connection = {
  readonly host: string
  readonly port: number
  readonly broker: string
  readonly ssl: unknown
  readonly connectionTimeout: number
  readonly sessionLifetime: { toNumber(): number }
  socket: Socket | undefined
  connectionStatus: string
  authenticatedAt: unknown
  authHandlers: { onError(): void } | null
  chunks: Buffer[]
  bytesBuffered: number
  bytesNeeded: number
  requestQueue: { rejectAll(error: Error): void; destroy(): void; scheduleRequestTimeoutCheck(): void }
  socketFactory(options: { host: string; port: number; ssl: unknown; onConnect(): void }): Socket
  logError(message: string): void
  isConnected(): boolean
  processData(data: Buffer): void
  authenticate(): Promise<void>
  send(call: Call): Promise<unknown>
  sendAuthRequest(call: object): Promise<unknown>
  disconnect(): Promise<boolean>
}

/** In whole milliseconds, like the times of requests: a connection is never later than its first request. */
export const monotonicNow = () => Math.trunc(performance.timeOrigin + performance.now())

/**
 * Connections whose attempts to connect are limited as a whole, that end at once when the broker does not respond, and
 * that later events of a former socket do not affect.
 */
export function boundedConnections(
  Original: new (options: object) => Connection,
  { KafkaJSConnectionError, KafkaJSConnectionClosedError }: Errors,
): new (
  options: object,
) => Connection & PooledConnection {
  class BoundedConnection extends Original {
    openedAt = 0
    #limitedFrom = 0
    #opening: Promise<true> | undefined
    /** Requests that the connection needs before it can be used. */
    #preparing = 0

    /** Connects once for all callers. */
    connect(): Promise<true> {
      if (this.isConnected()) return Promise.resolve(true)
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined
      })
      return this.#opening
    }

    async #open(): Promise<true> {
      const { host, port, ssl, broker } = this
      // The former connection may have ended within a response.
      Object.assign(this, { authenticatedAt: null, chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES })
      this.openedAt = monotonicNow()
      this.#limitedFrom = this.openedAt
      const opened = Promise.withResolvers<true>()
      const end = (error: Error) => {
        if (this.socket === socket) this.drop(error)
        opened.reject(error)
      }
      const onConnect = () => {
        if (this.socket !== socket) return
        this.connectionStatus = CONNECTED
        this.requestQueue.scheduleRequestTimeoutCheck()
        opened.resolve(true)
      }
      let socket: Socket
      try {
        socket = this.socketFactory({ host, port, ssl, onConnect })
      } catch (error) {
        throw new KafkaJSConnectionError(`Failed to connect: ${(error as Error).message}`, { broker })
      }
      this.socket = socket
      const closed = () => end(new KafkaJSConnectionClosedError('Closed connection', { host, port }))
      socket.on('data', (data: Buffer) => {
        if (this.socket !== socket) return
        try {
          this.processData(data)
        } catch (error) {
          // Thrown here, it would end the process.
          end(new KafkaJSConnectionError(`Malformed response: ${(error as Error).message}`, { broker }))
        }
      })
      socket.on('end', closed).on('close', closed)
      socket.on('error', ({ message, code }: NodeJS.ErrnoException) => {
        const error = new KafkaJSConnectionError(`Connection error: ${message}`, { broker, code })
        if (this.socket === socket) this.logError(error.message)
        end(error)
      })
      return this.#limited(opened.promise)
    }

    /** Ends the connection when TCP, TLS, ApiVersions and the login together take longer than the limit. */
    async #limited<T>(work: Promise<T>): Promise<T> {
      const expired = Promise.withResolvers<never>()
      const timer = setTimeout(
        () => {
          const error = new KafkaJSConnectionError('Connection timeout', { broker: this.broker, code: TIMED_OUT })
          this.logError(error.message)
          expired.reject(error)
          this.drop(error)
        },
        // A slow token may leave no time. Node would warn of a negative one, on stderr.
        Math.max(0, this.#limitedFrom + this.connectionTimeout - monotonicNow()),
      )
      this.#preparing++
      return Promise.race([work, expired.promise]).finally(() => {
        this.#preparing--
        clearTimeout(timer)
      })
    }

    /** Ends the connection at once. Its requests are rejected with the error; the next request connects anew. */
    drop(error: Error): void {
      const { socket, authHandlers } = this
      this.socket = undefined
      this.connectionStatus = DISCONNECTED
      this.authenticatedAt = null
      authHandlers?.onError()
      this.requestQueue.rejectAll(error)
      this.requestQueue.destroy()
      socket?.destroy()
    }

    /** After a login that failed, as without a token, the broker would refuse another one over the same connection. */
    override async authenticate(): Promise<void> {
      try {
        await super.authenticate()
      } catch (error) {
        this.drop(error as Error)
        throw error
      }
    }

    /** Waits for the responses to its requests. */
    override async disconnect(): Promise<boolean> {
      const closed = new KafkaJSConnectionClosedError('Closed connection', this)
      if (!this.isConnected() || this.#preparing > 0) {
        this.drop(closed)
        return true
      }
      await super.disconnect()
      // A request that came at the last moment would have no time limit.
      this.requestQueue.rejectAll(closed)
      return true
    }

    /** Adds the API key to the error codes of the broker: a refused topic does not say which right is missing. */
    override async send(call: Call): Promise<unknown> {
      const { apiKey } = call.request
      // Another login of a session has the limit of a connection to itself.
      if (apiKey === SASL_HANDSHAKE && this.authenticatedAt !== null) this.#limitedFrom = monotonicNow()
      try {
        const response = super.send(call)
        return await (BEFORE_USE.includes(apiKey) ? this.#limited(response) : response)
      } catch (error) {
        const { errors = [] } = error as BrokerError
        for (const each of [error as BrokerError, ...errors]) if (each.type !== undefined) each.apiKey ??= apiKey
        throw error
      }
    }

    override sendAuthRequest(call: object): Promise<unknown> {
      return this.#limited(super.sendAuthRequest(call))
    }
  }
  /**
   * kafkajs logs in again 10 s before the end of a session. A session of 10 s or less then never begins: each request
   * logs in again, until the broker refuses it with ILLEGAL_SASL_STATE. This logs in again 10 s before the end of a
   * session, or a quarter of the session before it if that is less. Brokers accept one login a second.
   */
  Object.defineProperty(BoundedConnection.prototype, 'reauthenticationThreshold', {
    get(this: Connection) {
      // kafkajs calculates with whole numbers only.
      return Math.min(LONGEST_REST_MS, Math.ceil(this.sessionLifetime.toNumber() * (1 - SESSION_PART)))
    },
    set() {
      // The constructor of kafkajs sets its own.
    },
  })
  return BoundedConnection
}

/** kafkajs never renews the API versions of a broker; this asks again after each loss of the connection. */
export function withFreshVersions(connect: (this: Broker) => Promise<void>) {
  return function connectWithFreshVersions(this: Broker): Promise<void> {
    if (!this.connectionPool.isConnected()) this.versions = null
    return connect.call(this)
  }
}

type BoundedBuilder = PoolBuilder & {
  isClosed: boolean
  /** The pools that may have a connection, also those that kafkajs has dropped. */
  opened: Set<Pick<ConnectionPool, 'destroy'>>
}
type BuilderOptions = {
  brokers: readonly string[]
  /** `renew` is awaited before each connection. */
  socketFactory?: { renew?(report: (reason: string) => void): Promise<unknown> }
  logger: { error(message: string): void }
}
type Client = Pick<Cluster, 'connect' | 'disconnect'> & { connectionPoolBuilder: BoundedBuilder }

/**
 * kafkajs connects again for a request that began before `disconnect` and needs a connection after it. Nothing ends
 * that connection, and it keeps the process running. This rejects such a request, until the client is connected again,
 * and ends the connections to brokers that kafkajs has dropped meanwhile, too.
 *
 * kafkajs keeps the dead socket after the time-out of a request. This ends all connections to that broker, so that the
 * next request finds out whether the broker accepts a connection, and requests the metadata if it does not.
 *
 * kafkajs reports new metadata when the brokers that they no longer name have responded to all requests, although one of
 * them may be frozen. This waits for them only when the client disconnects.
 */
export function boundedPools(
  createBuilder: (options: BuilderOptions) => Pick<PoolBuilder, 'build'>,
  { KafkaJSConnectionError }: Pick<Errors, 'KafkaJSConnectionError'>,
) {
  return function createBoundedBuilder(options: BuilderOptions) {
    const original = createBuilder(options)
    const builder = {
      isClosed: false,
      opened: new Set<ConnectionPool>(),
      addresses: options.brokers,
      async build(address?: Address): Promise<ConnectionPool> {
        const pool = await original.build(address)
        const { getConnection, send, destroy } = pool
        return Object.assign(pool, {
          async getConnection(index = 0) {
            if (!pool.pool[index]?.isConnected()) {
              await options.socketFactory?.renew?.((reason) => options.logger.error(reason))
            }
            if (!builder.isClosed) {
              builder.opened.add(pool)
              return getConnection.call(pool, index)
            }
            const error = new KafkaJSConnectionError('the client is disconnected', {
              broker: `${pool.host}:${pool.port}`,
            })
            throw Object.assign(error, { retriable: false })
          },
          async destroy() {
            builder.opened.delete(pool)
            const ended = destroy.call(pool)
            if (builder.isClosed) await ended
          },
          send: (call: Call) =>
            send.call(pool, call).catch((error: BrokerError) => {
              if (isTimeOut(error)) dropAll(pool, error)
              throw error
            }),
        })
      },
    }
    return builder
  }
}

export const isTimeOut = ({ name, code }: BrokerError) => name === 'KafkaJSRequestTimeoutError' || code === TIMED_OUT

/** Except those that were opened after the request was sent. */
export function dropAll({ pool }: Pick<ConnectionPool, 'pool'>, error: BrokerError): void {
  const { sentAt = Number.POSITIVE_INFINITY } = error
  for (const connection of pool) if (connection.openedAt <= sentAt) connection.drop(error)
}

/** The two methods by which each client of kafkajs begins and ends. */
export function withClosedPools({ connect, disconnect }: Client) {
  return {
    connect(this: Client): Promise<void> {
      this.connectionPoolBuilder.isClosed = false
      return connect.call(this)
    },
    async disconnect(this: Client): Promise<void> {
      const { connectionPoolBuilder: builder } = this
      builder.isClosed = true
      await disconnect.call(this)
      await Promise.all([...builder.opened].map((pool) => pool.destroy()))
    },
  }
}
