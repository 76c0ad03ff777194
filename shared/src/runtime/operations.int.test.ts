import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { openRaw } from '../../../tests/support/raw-connection.ts'
import { PreconditionError } from './failures.ts'
import { type OperationsParts, openOperationsPort } from './operations.ts'

const noMetrics = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  metrics: async () => '',
} as const
const idle: OperationsParts = { readiness: () => [], metrics: noMetrics, log: quietLog }

async function openPort(parts: Partial<OperationsParts> = {}) {
  const { port, close } = await openOperationsPort(0, '127.0.0.1', { ...idle, ...parts })
  onTestFinished(close)
  return { port, close, url: `http://127.0.0.1:${port}` }
}

const PATHS = ['/livez', '/readyz', '/metrics']
const anError = { error: expect.any(Number), message: expect.any(String) }

async function responseTo(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  return [response.status, await response.json()]
}

it('the port reports that the process runs, and whether it is ready at the moment, or the reasons if not', async () => {
  const reasons = ['kafka: away', 'redis: away']
  const { url } = await openPort({ readiness: () => reasons, notices: () => ['a notice'] })
  expect(await responseTo(`${url}/livez`)).toEqual([200, { live: true }])
  const notReady = { ready: false, reasons: ['kafka: away', 'redis: away'], notices: ['a notice'] }
  expect(await responseTo(`${url}/readyz`)).toEqual([503, notReady])
  reasons.length = 0
  const ready = { ready: true, reasons: [], notices: ['a notice'] }
  expect(await responseTo(`${url}/readyz?verbose`)).toEqual([200, ready])
})

it('the port responds with 500 when a part of it fails, and continues to run', async () => {
  const fail = () => {
    throw new Error('out of order')
  }
  const { url } = await openPort({ readiness: fail, metrics: { ...noMetrics, metrics: async () => fail() } })
  for (const path of ['/readyz', '/metrics', '/readyz'])
    expect(await responseTo(`${url}${path}`)).toEqual([500, { ...anError, error: 500 }])
  expect(await responseTo(`${url}/livez`)).toEqual([200, { live: true }])
})

it.each([
  ['GET', 404, ['/', '/readyz/', '/livezz', '/metrics/x', '//', '/%', '/__proto__']],
  ['POST', 405, PATHS],
  ['OPTIONS', 405, PATHS],
])('the port responds to %s of what it does not have with %i in the Error shape', async (method, status, paths) => {
  const { url } = await openPort()
  for (const path of paths) {
    const response = await fetch(`${url}${path}`, { method, ...(method === 'POST' && { body: '{' }) })
    expect([response.status, response.headers.get('allow')]).toEqual([status, status === 405 ? 'GET, HEAD' : null])
    expect(await response.json()).toEqual({ ...anError, error: status })
  }
})

it.each([
  [
    'in use',
    '127.0.0.1',
    'port %d of 127.0.0.1 is in use: end the program that listens there, or set OPS_PORT to another port',
  ],
  ['elsewhere', '192.0.2.1', 'port %d of 192.0.2.1 is not at an address of this machine: correct HOST'],
])('a port that is %s is named with the setting to correct', async (_what, host, message) => {
  const { port } = await openPort()
  const opened = openOperationsPort(port, host, idle)
  await expect(opened).rejects.toEqual(new PreconditionError(message.replace('%d', String(port))))
})

it('the port closes although a connection is open', async () => {
  const { port, close, url } = await openPort()
  const open = request({ port, host: '127.0.0.1', path: '/livez', headers: { expect: '100-continue' } })
  open.on('error', () => {})
  open.flushHeaders()
  await fetch(`${url}/livez`)
  await close()
  await expect(fetch(`${url}/livez`)).rejects.toThrow()
})

it.each([
  ['nonsense', 'nonsense\r\n\r\n', 400],
  ['headers too large', `GET /livez HTTP/1.1\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`, 431],
  ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  ['a body that does not end', 'POST /livez HTTP/1.1\r\nContent-Length: 9\r\n\r\n{', 405],
  ['a head that does not end', 'GET /livez HTTP/1.1\r\n', 408],
])('%s: the response has the Error shape, and the connection ends', async (_what, sent, status) => {
  const { url } = await openPort()
  const connection = openRaw(url)
  connection.write(sent)
  await connection.closed
  const [response, ...more] = connection.responses()
  expect([response?.status, response?.headers.connection, more]).toEqual([status, 'close', []])
  expect(response?.headers['content-type']).toBe('application/json')
  expect(JSON.parse(response?.body ?? '')).toEqual({ ...anError, error: status })
})

const ours = ['127.0.0.1:3100', '[::1]:3100', 'localhost', 'api:3100', 'OPS.example:1', 'api.plants.svc']
const others = ['evil.example:3100', '127.0.0.1.evil.example', 'localhost.evil.example', 'x.ops.example', '1.2.3']
it.each<[string | undefined, number]>([
  ...[undefined, '', ...ours, 'a.svc.cluster.local'].map((host): [typeof host, number] => [host, 200]),
  ...[...others, 'ops.example.'].map((host): [string, number] => [host, 421]),
])('with the Host %s, a page responds with %i, and metrics by any name', async (host, status) => {
  const body = async () => ({ status: 200, headers: {}, body: 'a page' })
  const { url } = await openPort({ pages: new Map([['/', body]]), pageHosts: ['ops.example'] })
  const header = host === undefined ? '' : `Host: ${host}\r\n`
  for (const [path, expected] of Object.entries({ '/': status, '/metrics': 200 })) {
    const connection = openRaw(url)
    connection.write(`GET ${path} HTTP/1.1\r\n${header}\r\n`)
    await eventually(() => expect(connection.responses()).toMatchObject([{ status: expected }]))
  }
})

it.each([
  ['nonsense', 'nonsense\r\n\r\n', () => new Promise<string>(() => {})],
  ['thousands of requests', 'GET /metrics HTTP/1.1\r\n\r\n'.repeat(2_000), async () => ''],
])('%s after a request get no response, as if to it or all at once: the connection ends', async (_, more, metrics) => {
  const { url } = await openPort({ metrics: { ...noMetrics, metrics } })
  const connection = openRaw(url)
  connection.write(`GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n${more}`)
  await connection.closed
  expect(connection.received()).toBe('')
})

it('connections beyond a hundred are closed, until others end', async () => {
  const { url } = await openPort()
  const many = Array.from({ length: 100 }, () => openRaw(url))
  for (const { write } of many) write('GET /livez HTTP/1.1\r\n\r\n')
  for (const { responses } of many) await eventually(() => expect(responses()).toHaveLength(1))
  const surplus = openRaw(url)
  await surplus.closed
  expect(surplus.received()).toBe('')
  many[0]?.socket.destroy()
  await eventually(async () => expect((await fetch(`${url}/livez`)).status).toBe(200))
})
