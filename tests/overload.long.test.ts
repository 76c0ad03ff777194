import { expect, it, vi } from 'vitest'
import { createPlant, errorOf, idsFrom, onConnections, readPlant, send } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { startApiAlone, TOKEN } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const OVERLOADED = 50304
const COVERAGE_GAP = 50303
/** A read that waits until its deadline: no log reaches this position. */
const WAITING = `GET /plants/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nPlants-Position: 0-999999\r\n\r\n`
const bodiesOf = (connection: ReturnType<typeof openRaw>) =>
  connection.responses().map(({ body }) => (JSON.parse(body) as { error: number }).error)

it('beyond REQUESTS_MAX, requests are rejected at once; those whose client has left count; each response is true', async () => {
  const { store, api } = await startApiAlone({ api: { REQUESTS_MAX: '3', READ_DEADLINE_MS: '8000' } })
  const connection = openRaw(api.url)
  connection.write(WAITING.repeat(100))
  await eventually(async () => {
    // Before their token is checked.
    const refused = await send(`${api.url}/plants`, { method: 'POST', headers: { authorization: '' } })
    expect(refused).toMatchObject({ status: 503, body: { error: OVERLOADED }, headers: { 'retry-after': '1' } })
  })
  await eventually(() => expect(bodiesOf(connection)).toHaveLength(100))
  expect(bodiesOf(connection).sort((a, b) => a - b)).toEqual([
    ...Array(3).fill(COVERAGE_GAP),
    ...Array(97).fill(OVERLOADED),
  ])

  const leaver = openRaw(api.url)
  // Its requests must come before any question for room, which would take the place of one of them.
  await eventually(() => expect(leaver.socket.readyState).toBe('open'))
  leaver.write(WAITING.repeat(3))
  await eventually(async () => expect(errorOf(await readPlant(api.url, 1n))).toBe(OVERLOADED))
  leaver.socket.destroy()
  await leaver.closed
  expect(errorOf(await readPlant(api.url, 1n))).toBe(OVERLOADED)
  await eventually(async () => expect((await readPlant(api.url, 1n))?.status).toBe(404))

  // Several times the capacity.
  const creates = await onConnections(200, idsFrom(0, 6_000), (id) => createPlant(api.url, id, `plant ${id}`))
  const errors = creates.filter(({ response }) => response?.status !== 200).map(({ response }) => errorOf(response))
  expect(new Set(errors)).toEqual(new Set([OVERLOADED]))
  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  expect(truth.records).toBe(creates.length - errors.length)
})

it('one connection too many gets a response and is closed, twice as many are only closed, until one leaves', async () => {
  const { api } = await startApiAlone({ api: { CONNECTIONS_MAX: '2' } })
  const requestOnNewConnection = () => {
    const connection = openRaw(api.url)
    connection.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n')
    return connection
  }
  const [first, second] = [requestOnNewConnection(), requestOnNewConnection()]
  for (const connection of [first, second]) await eventually(() => expect(bodiesOf(connection)).toEqual([40400]))
  const third = requestOnNewConnection()
  await third.closed
  expect(bodiesOf(third)).toEqual([OVERLOADED])
  expect(third.responses()[0]).toMatchObject({ headers: { connection: 'close', 'retry-after': '1' } })

  const silent = [openRaw(api.url), openRaw(api.url)]
  await Promise.all(silent.map(({ socket }) => eventually(() => expect(socket.readyState).toBe('open'))))
  const fifth = requestOnNewConnection()
  await fifth.closed
  expect(fifth.received()).toBe('')

  for (const { socket } of [first, ...silent]) socket.destroy()
  await eventually(async () => {
    const connection = requestOnNewConnection()
    await vi.waitFor(() => expect(connection.responses()).toHaveLength(1), 1_000)
    const [error] = bodiesOf(connection)
    connection.socket.destroy()
    expect(error).toBe(40400)
  })
})
