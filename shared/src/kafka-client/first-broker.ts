import { hostPortOf } from '../runtime/host-port.ts'
import type { Address, Broker, BrokerPool } from './kafkajs-parts.ts'
import { takeNewerLeaders } from './newest-leaders.ts'

// Which broker responds first to a request that any broker can answer.

/** For a broker that is slow because it is busy. */
const NEXT_AFTER_MS = 500
/** Metadata and FindCoordinator. An error code to another request concerns only the connection to that broker. */
const ASKED = [3, 10]

/** `apiKey` is the key of the request to which the broker responded with an error code. */
type BrokerError = { apiKey?: number; retriable?: boolean; message?: string }
type Use<T> = (broker: Broker) => Promise<T>

/**
 * Methods for kafkajs's pool of brokers. kafkajs tries one broker after the other, each until it times out, and one
 * broker that is stopped can be tried again and again. And kafkajs drops the errors of the brokers: a missing right
 * looks as if there was no coordinator.
 */
export const firstBroker = {
  async connect(this: BrokerPool): Promise<void> {
    if (this.hasConnectedBrokers()) return
    return this.retrier(async (bail, retryCount, retryTime) => {
      try {
        await connectSeed(this)
      } catch (error) {
        const { message = '', retriable } = error as BrokerError
        this.logger.error(message, { retryCount, retryTime })
        if (retriable) throw error
        bail(error)
      }
    })
  },

  /** kafkajs only requests metadata from the broker that this returns. */
  async findConnectedBroker(this: BrokerPool) {
    if (this.seedBroker === undefined) await connectSeed(this)
    return {
      metadata: async (topics: readonly string[]) => {
        const found = await ask(this, (broker) => broker.metadata(topics))
        if (this.metadata !== null) takeNewerLeaders(found, this.metadata)
        return found
      },
    }
  },

  /** As kafkajs's, but the seed remains, and both connections to the broker end: perhaps only one of them has. */
  removeBroker(this: BrokerPool, { host, port }: Address): void {
    for (const [nodeId, broker] of Object.entries(this.brokers)) {
      if (broker.connectionPool.host !== host || broker.connectionPool.port !== port) continue
      delete this.brokers[nodeId]
      this.metadataExpireAt = null
      if (broker !== this.seedBroker) void broker.disconnect()
    }
  },

  withBroker<T>(this: BrokerPool, use: (parameters: { nodeId: number | null; broker: Broker }) => Promise<T>) {
    return ask(this, (broker) => use({ nodeId: broker.nodeId, broker }))
  },
}

/** Asks the connected brokers, then the other known ones, then the bootstrap addresses. */
function ask<T>(pool: BrokerPool, use: Use<T>): Promise<T> {
  const known = new Set([...Object.values(pool.brokers), ...(pool.seedBroker === undefined ? [] : [pool.seedBroker])])
  const shuffled = [...known].sort(() => Math.random() - 0.5)
  const asks = shuffled.sort(byConnection).map((broker) => async () => {
    await pool.connectBroker(broker)
    return use(broker)
  })
  return firstOf([...asks, () => askBootstrap(pool, use)])
}

const byConnection = (a: Broker, b: Broker) => Number(b.isConnected()) - Number(a.isConnected())

/** Over a connection for this request alone, because a metadata request may be waiting for the seed. */
async function askBootstrap<T>(pool: BrokerPool, use: Use<T>): Promise<T> {
  const broker = await connectBootstrap(pool)
  try {
    return await use(broker)
  } finally {
    void broker.disconnect()
  }
}

async function connectSeed(pool: BrokerPool): Promise<void> {
  const former = pool.seedBroker
  pool.seedBroker = await connectBootstrap(pool)
  if (former !== undefined && !Object.values(pool.brokers).includes(former)) void former.disconnect()
}

/** Connects to the first bootstrap address that accepts a connection and the login. */
async function connectBootstrap(pool: BrokerPool): Promise<Broker> {
  const tried: Broker[] = []
  let connected: Broker | undefined
  const attempts = pool.connectionPoolBuilder.addresses.map((address) => async () => {
    const connectionPool = await pool.connectionPoolBuilder.build(hostPortOf(address))
    const broker = pool.createBroker({ connectionPool, logger: pool.rootLogger })
    tried.push(broker)
    await broker.connect()
    // Its connection began after the first one was found, and so did not end with the others.
    if (connected !== undefined) void broker.disconnect()
    return broker
  })
  try {
    connected = await firstOf(attempts)
    return connected
  } finally {
    for (const broker of tried) if (broker !== connected) void broker.disconnect()
  }
}

/**
 * The result of the first attempt that succeeds, or whose broker responds with an error code. The next attempt begins
 * after 500 ms, or as soon as one fails. Rejects when all have failed, with an error that another attempt would not
 * change if there is one.
 */
export function firstOf<T>(attempts: readonly (() => Promise<T>)[]): Promise<T> {
  const first = Promise.withResolvers<T>()
  const failures: BrokerError[] = []
  let begun = 0
  let timer: NodeJS.Timeout | undefined

  function beginNext(): void {
    clearTimeout(timer)
    const attempt = attempts[begun]
    if (attempt === undefined) return
    begun++
    timer = setTimeout(beginNext, NEXT_AFTER_MS)
    attempt().then(first.resolve, fail)
  }

  function fail(error: BrokerError): void {
    failures.push(error)
    if (ASKED.includes(error.apiKey ?? Number.NaN)) first.reject(error)
    else if (failures.length === attempts.length) first.reject(failures.find(isLasting) ?? failures[0])
    else beginNext()
  }

  beginNext()
  return first.promise.finally(() => {
    clearTimeout(timer)
    begun = attempts.length
  })
}

const isLasting = ({ retriable }: BrokerError) => retriable === false
