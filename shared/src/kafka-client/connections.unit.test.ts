import { Duplex } from 'node:stream'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { boundedPools, withClosedPools } from './connections.ts'
import { kafkajsModule } from './kafkajs.ts'

const Connection = kafkajsModule('src/network/connection.js')
const heartbeat = kafkajsModule('src/protocol/requests/heartbeat/index.js')
const versions = kafkajsModule('src/protocol/requests/apiVersions/index.js').protocol({ version: 0 })()
const silent = { namespace: () => silent, debug() {}, error() {}, warn() {} }

/** A broker that does not even end its connections has this one. */
const openSocket = () => Object.assign(new Duplex({ read() {}, write() {} }), { unref() {} })

/** A connection whose broker is this socket, and its attempt to connect. */
function openConnection(socket: Duplex, isReachable = true) {
  const connection = new Connection({
    ...{ host: 'kafka', port: 9_092, logger: silent, connectionTimeout: 2_000, requestTimeout: 2_000 },
    socketFactory({ onConnect }: { onConnect(): void }) {
      if (isReachable) queueMicrotask(onConnect)
      return socket
    },
  })
  return { connection, opened: connection.connect() }
}

it.each([
  ['connects', false],
  ['asks for the versions of the broker', true],
])('a connection that is disconnected while it %s ends at once', async (_what, isReachable) => {
  const socket = openSocket()
  const { connection, opened } = openConnection(socket, isReachable)
  if (isReachable) await opened
  const failed = expect(isReachable ? connection.send(versions) : opened).rejects.toThrow('Closed connection')
  // By then the request is in flight.
  await new Promise(setImmediate)
  await connection.disconnect()
  await failed
  expect(socket.destroyed).toBe(true)
})

it('a request that comes while its connection ends fails', async () => {
  onTestFinished(fakeTimers())
  const request = heartbeat.protocol({ version: 3 })({ groupId: 'plants', groupGenerationId: 1, memberId: 'member' })
  const failures = Array.from({ length: 15 }, async (_, turns) => {
    const { connection, opened } = openConnection(openSocket())
    await opened
    const failed = connection.send(request).catch(({ name }: Error) => name)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    void connection.disconnect()
    return failed
  })
  await vi.advanceTimersByTimeAsync(10_000)
  for (const name of await Promise.all(failures)) expect(name).toMatch(/RequestTimeout|Connection(Closed)?Error/)
})

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
  onTestFinished(fakeTimers())
  const { connection, opened } = openConnection(openSocket())
  await opened
  await vi.advanceTimersByTimeAsync(5_000)
  const login = connection.sendAuthRequest({ request: { encode: async () => Buffer.of() } })
  const ended = expect(login).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await vi.advanceTimersByTimeAsync(1)
  await ended
})

it.each([
  ['has no room for its number', Buffer.alloc(4)],
  ['has a negative length', Buffer.from([255, 0, 0, 0])],
])('a response that %s ends the connection, and no more', async (_what, bytes) => {
  const socket = openSocket()
  const { connection, opened } = openConnection(socket)
  await opened
  const failed = expect(connection.send(versions)).rejects.toMatchObject({ name: 'KafkaJSConnectionError' })
  socket.push(bytes)
  await failed
  expect(connection.isConnected()).toBe(false)
})
