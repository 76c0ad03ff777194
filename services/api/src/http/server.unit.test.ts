import dns from 'node:dns'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { allPartitions, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { expect, it, type MockInstance, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { openRaw } from '../../../../tests/support/raw-connection.ts'
import { encodeCursor } from '../read-plants/cursor.ts'
import { ApiSettings } from '../settings.ts'
import { createServer, listenAt, respondToNodeFailures } from './server.ts'

const HOST = '127.0.0.1'
type Found = (error: null, addresses: dns.LookupAddress[]) => void
const PAST_BUFFERS = 'x'.repeat(20_000_000)

function openServer(env: Record<string, string> = {}, partitions = 12) {
  const stores = { KAFKA_BROKERS: 'nowhere:1', REDIS_URL: 'redis://nowhere' }
  const settings = readSettings(ApiSettings, { ...stores, ...env })
  const app = createServer({ settings, partitions, log: quietLog, tls: undefined })
  respondToNodeFailures(app.server)
  onTestFinished(() => app.close())
  return app
}

it('has the longest limits that the settings allow', () => {
  const { maximum } = ApiSettings.properties.HEADERS_TIMEOUT_MS as { maximum?: number }
  const { server } = openServer({ HEADERS_TIMEOUT_MS: String(maximum), REQUEST_TIMEOUT_MS: String(maximum) })
  expect([server.headersTimeout, server.requestTimeout]).toEqual([maximum, maximum])
})

it.each([1, 12, 1_000])('has room for the longest token, position and cursor of %i partitions', async (partitions) => {
  const app = openServer({}, partitions)
  app.get('/', async () => 'received')
  const all = allPartitions(partitions)
  const position = formatToken(new Map(all.map((partition) => [partition, offsetOf(2 ** 48 - 1)])))
  const cursor = encodeCursor({ partition: 0 as Partition, listed: all.map(() => 2 ** 48 - 1) })
  const connection = openRaw(await app.listen({ host: HOST, port: 0 }))
  const bearer = 'x'.repeat(8_192)
  const headers = `Host: x\r\nAuthorization: Bearer ${bearer}\r\nPlants-Position: ${position}`
  connection.write(`GET /?cursor=${cursor} HTTP/1.1\r\n${headers}\r\n\r\n`)
  await eventually(() => expect(connection.responses()).toMatchObject([{ status: 200 }]))
})

it('listens at one address of a name that has several', async () => {
  const lookUp = vi.spyOn(dns, 'lookup') as unknown as MockInstance<(host: string, _: object, found: Found) => void>
  onTestFinished(() => lookUp.mockRestore())
  lookUp.mockImplementation((host, _, found) => {
    const addresses = host === 'localhost' ? [HOST, '127.0.0.2'] : [host]
    found(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    )
  })
  const app = openServer()
  await listenAt(app, { HOST: 'localhost', PORT: 0 })
  expect(app.addresses()).toHaveLength(1)
})

it('waits for a response, also when a later one of the connection is complete', async () => {
  const app = openServer({ ANSWER_TIMEOUT_MS: '100' })
  app.get('/slow', async () => {
    await once(app.server, 'timeout')
    return 'slow'
  })
  app.get('/fast', async () => 'fast')
  const connection = openRaw(await app.listen({ host: HOST, port: 0 }))
  connection.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /fast HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await connection.closed
  expect(connection.responses().map(({ body }) => body)).toEqual(['slow', 'fast'])
})

it('closes the connection of a client that does not read its response', async () => {
  const app = openServer({ ANSWER_TIMEOUT_MS: '100' })
  app.get('/', async () => PAST_BUFFERS)
  const connected = once(app.server, 'connection')
  const { socket, write } = openRaw(await app.listen({ host: HOST, port: 0 }))
  socket.pause()
  write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [accepted] = (await connected) as [Socket]
  await once(accepted, 'close')
})
