import { Duplex } from 'node:stream'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { boundedPools, withClosedPools } from './connections.ts'
import { kafkajsModule } from './kafkajs.ts'

const Connection = kafkajsModule('src/network/connection.js')
const versions = kafkajsModule('src/protocol/requests/apiVersions/index.js').protocol({ version: 0 })()
const silent = { namespace: () => silent, debug() {}, error() {}, warn() {} }

/** A connection whose broker is this socket. */
async function connectTo(socket: Duplex) {
  const connection = new Connection({
    ...{ host: 'kafka', port: 9_092, logger: silent, connectionTimeout: 2_000, requestTimeout: 2_000 },
    socketFactory({ onConnect }: { onConnect(): void }) {
      queueMicrotask(onConnect)
      return socket
    },
  })
  await connection.connect()
  return connection
}

it('a client that is disconnected ends the connections to brokers that it dropped before, each once', async () => {
  const ended: string[] = []
  const unused = { pool: [], isConnected: () => false, getConnection: async () => {}, send: async () => {} }
  const createBuilder = () => ({
    build: async ({ host, port } = { host: '', port: 0 }) => ({
      ...{ ...unused, host, port, destroy: async () => void ended.push(host) },
    }),
  })
  const builder = boundedPools(createBuilder, kafkajsModule('src/errors.js'))({ brokers: [], logger: { error() {} } })
  const [known, dropped] = await Promise.all(['known', 'dropped'].map((host) => builder.build({ host, port: 9_092 })))
  const methods = withClosedPools({
    connectionPoolBuilder: builder,
    connect: async () => {},
    disconnect: async () => known?.destroy(),
  })
  await Promise.all([known?.getConnection(), dropped?.getConnection()])
  await Object.assign(methods, { connectionPoolBuilder: builder }).disconnect()
  expect(ended).toEqual(['known', 'dropped'])
  await expect(dropped?.getConnection()).rejects.toThrow('the client is disconnected')
})

it('a login whose token took longer than the limit of the connection ends it at once', async () => {
  const restoreTimers = fakeTimers()
  onTestFinished(() => {
    // First: the tests that follow would keep the fake timer.
    vi.restoreAllMocks()
    restoreTimers()
  })
  const connection = await connectTo(new Duplex({ read() {}, write() {} }))
  await vi.advanceTimersByTimeAsync(5_000)
  const timer = vi.spyOn(globalThis, 'setTimeout')
  const login = connection.sendAuthRequest({ request: { encode: async () => Buffer.of() } })
  const ended = expect(login).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await vi.advanceTimersByTimeAsync(0)
  await ended
  // Node would warn of a negative time, on stderr.
  expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([0])
})

it.each([
  ['has no room for its number', Buffer.alloc(4)],
  ['has a negative length', Buffer.from([255, 0, 0, 0])],
])('a response that %s ends the connection, and no more', async (_what, bytes) => {
  const socket = new Duplex({ read() {}, write() {} })
  const connection = await connectTo(socket)
  const failed = expect(connection.send(versions)).rejects.toMatchObject({ name: 'KafkaJSConnectionError' })
  socket.push(bytes)
  await failed
  expect(connection.isConnected()).toBe(false)
})
