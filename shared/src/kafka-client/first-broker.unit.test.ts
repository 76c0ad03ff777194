import { beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { firstOf } from './first-broker.ts'
import { kafkajsModule } from './kafkajs.ts'

beforeEach(() => fakeTimers())

describe('the first of several attempts', () => {
  const hanging = () => new Promise<string>(() => {})
  const failing = (error: object) => () => Promise.reject(error)
  const refusal = { retriable: false }

  it('is followed by the next one after 500 ms, or at once when it fails, and by none when it has succeeded', async () => {
    const [next, last] = [vi.fn(failing({})), vi.fn(hanging)]
    const result = firstOf([hanging, next, async () => 'third', last])
    await vi.advanceTimersByTimeAsync(499)
    expect(next).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toBe('third')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(last).not.toHaveBeenCalled()
  })

  it('is the error code that a broker responds with, but not that of a login which it refuses', async () => {
    const answer = { type: 'UNKNOWN_TOPIC_OR_PARTITION', apiKey: 3 }
    const login = { type: 'ILLEGAL_SASL_STATE', apiKey: 17 }
    await expect(firstOf([failing(login), failing(answer), async () => 'third'])).rejects.toBe(answer)
  })

  it('fails when all have failed, with what an operator has to correct if one says so', async () => {
    await expect(firstOf([failing({}), failing(refusal), failing({})])).rejects.toBe(refusal)
  })
})

describe('each node has a connection to its own address', () => {
  const BrokerPool = kafkajsModule('src/cluster/brokerPool.js')
  const logger = { namespace: () => logger, error() {} }
  const HOSTS = ['a', '::1']
  const brokers = HOSTS.map((host, nodeId) => ({ nodeId, host, port: 9_092, rack: null }))
  type Destination = { connectionPool: { host: string }; nodeId?: number }

  /** A pool of two brokers that is connected to the first one. They respond once `reach` does. */
  async function openPool(reach: (host: string) => Promise<void>) {
    const connected = new Set<object>()
    const pool = new BrokerPool({
      logger,
      connectionPoolBuilder: { addresses: ['a:9092', '[::1]:9092'], build: async (address: object) => address },
    })
    pool.createBroker = ({ connectionPool, nodeId }: Destination) => {
      const respond = async <T>(response: T) => {
        await reach(connectionPool.host)
        return response
      }
      const broker = {
        ...{ nodeId, connectionPool, isConnected: () => connected.has(broker) },
        connect: () => respond(broker).then(() => connected.add(broker)),
        disconnect: async () => connected.delete(broker),
        metadata: () => respond({ brokers, topicMetadata: [] }),
      }
      return broker
    }
    await pool.connect()
    const hosts = () => Object.values<Destination>(pool.brokers).map(({ connectionPool }) => connectionPool.host)
    return { pool, connected, hosts }
  }

  it('after a request that only a bootstrap broker has answered, whose connection ends', async () => {
    const frozen = new Set<string>()
    const { pool, connected, hosts } = await openPool((host) =>
      frozen.has(host) ? new Promise(() => {}) : Promise.resolve(),
    )
    frozen.add('a')
    const refreshed = pool.refreshMetadata([])
    await vi.advanceTimersByTimeAsync(1_000)
    await refreshed
    expect(hosts()).toEqual(HOSTS)
    expect([...connected]).toEqual([pool.brokers[0]])
  })

  it('after a connection was lost during a request', async () => {
    let response = Promise.resolve()
    const { pool, hosts } = await openPool(() => response)
    await pool.refreshMetadata([])
    const late = Promise.withResolvers<void>()
    response = late.promise
    const refreshed = pool.refreshMetadata([])
    await vi.advanceTimersByTimeAsync(0)
    pool.removeBroker({ host: 'a', port: 9_092 })
    late.resolve()
    await refreshed
    expect(hosts()).toEqual(HOSTS)
  })

  it('except the bootstrap addresses that respond after the first one', async () => {
    const late = Promise.withResolvers<void>()
    const opened = openPool((host) => (host === 'a' ? late.promise : Promise.resolve()))
    await vi.advanceTimersByTimeAsync(500)
    const { connected, pool } = await opened
    late.resolve()
    await vi.advanceTimersByTimeAsync(0)
    expect([...connected]).toEqual([pool.seedBroker])
    expect(pool.seedBroker.connectionPool).toEqual({ host: '::1', port: 9_092 })
  })

  it('which ends when the node is removed, except that of the seed', async () => {
    const { pool, connected } = await openPool(() => Promise.resolve())
    await pool.refreshMetadata([])
    await pool.connectBroker(pool.brokers[1])
    expect(connected.size).toBe(2)
    for (const { host, port } of brokers) pool.removeBroker({ host, port })
    expect([...connected]).toEqual([pool.seedBroker])
  })
})
