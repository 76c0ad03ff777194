import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createPlant, expectErrorShape, readPlant, send } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { openPlantStore, type RunningApi, TOKEN } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'

let api: RunningApi
let end: () => Promise<void>

beforeAll(async () => {
  const store = await openPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  end = store.end
  ;[api] = await Promise.all([store.startApi(), store.startProjector()])
})
afterAll(() => end())

const json = { 'content-type': 'application/json' }
const post = (body: string, headers: Record<string, string> = json) =>
  send(`${api.url}/plants`, { method: 'POST', headers, body })

describe('creating and reading', () => {
  it('responds 200 with the plant and nothing else, and 400 for an existing id', async () => {
    const first = await post('{"id":1,"name":"Monstera","tag":"indoor","colour":"green"}')
    expect(first).toMatchObject({ status: 200, body: { name: 'Monstera', tag: 'indoor' } })
    expect(first?.body).not.toHaveProperty('id')
    expect(await post('{"id":1,"name":"Monstera","tag":"indoor"}')).toMatchObject({
      status: 400,
      body: { error: 40003 },
    })
    expect((await readPlant(api.url, 1n))?.body).toEqual({ name: 'Monstera', tag: 'indoor' })
  })

  it('leaves an absent tag out and keeps an empty one', async () => {
    expect((await post('{"id":2,"name":""}'))?.body).toEqual({ name: '' })
    expect((await post('{"id":3,"name":"x","tag":""}'))?.body).toEqual({ name: 'x', tag: '' })
    expect((await readPlant(api.url, 2n))?.body).toEqual({ name: '' })
    expect((await readPlant(api.url, 3n))?.body).toEqual({ name: 'x', tag: '' })
  })

  it('keeps ids exact over the whole of int64', async () => {
    const ids = [9007199254740993n, 9007199254740992n, 2n ** 63n - 1n, -(2n ** 63n), 0n, -7n]
    for (const id of ids) expect((await createPlant(api.url, id, `plant ${id}`)).response?.status).toBe(200)
    for (const id of ids) expect((await readPlant(api.url, id))?.body).toMatchObject({ name: `plant ${id}` })
  })

  it('treats every spelling of an integer as the same id', async () => {
    expect((await post('{"id":1.2e3,"name":"first"}'))?.status).toBe(200)
    for (const id of ['1200', '1200.0', '12E2', '0.12e4']) {
      expect((await post(`{"id":${id},"name":"again"}`))?.body).toMatchObject({ error: 40003 })
    }
  })

  it('responds to a retry with the same Idempotency-Key as to the first request', async () => {
    const retried = { ...json, 'idempotency-key': 'key-1' }
    const body = '{"id":50,"name":"Fern","tag":"a"}'
    const responses = [await post(body, retried), await post(body, retried)]
    expect(responses.map((response) => response?.status)).toEqual([200, 200])
    expect(responses[1]?.headers['plants-position']).toBe(responses[0]?.headers['plants-position'])
    expect(await post(body, { ...retried, 'idempotency-key': '"key-1"' })).toMatchObject({ status: 200 })
    expect(await post(body, { ...retried, 'idempotency-key': 'key-2' })).toMatchObject({ status: 400 })
    expect(await post('{"id":50,"name":"Fern"}', retried)).toMatchObject({ body: { error: 40003 } })
    expect(await post(body)).toMatchObject({ body: { error: 40003 } })
  })

  it('sends a consistency token with each 200 and each duplicate, and accepts it', async () => {
    const created = await post('{"id":60,"name":"Aloe"}')
    const position = String(created?.headers['plants-position'])
    expect((await post('{"id":60,"name":"Aloe"}'))?.headers['plants-position']).toBe(position)
    const read = await readPlant(api.url, 60n, { 'plants-position': position })
    expect(read).toMatchObject({ status: 200, headers: { 'plants-position': position } })
    const beyond = position.replace(/\d+$/, '999999')
    expect(await readPlant(api.url, 60n, { 'plants-position': beyond })).toMatchObject({
      status: 503,
      body: { error: 50303, message: expect.stringContaining(beyond) },
      headers: { 'retry-after': '1' },
    })
    expect(await readPlant(api.url, 61n, { 'plants-position': 'x' })).toMatchObject({
      body: { error: 40006 },
    })
  })
})

describe('refusals', () => {
  it.each([
    ['no JSON', '{"id":1', 40001],
    ['an empty body', '', 40001],
    ['a missing id', '{"name":"x"}', 40002],
    ['a fractional id', '{"id":1.5,"name":"x"}', 40002],
    ['an id as text', '{"id":"1","name":"x"}', 40002],
    ['an id beyond int64', '{"id":9223372036854775808,"name":"x"}', 40002],
    ['an id that would take all memory', '{"id":1e999999999,"name":"x"}', 40002],
    ['no name', '{"id":1,"name":null}', 40002],
    ['a number as a name', '{"id":1,"name":7}', 40002],
    ['a name too long', `{"id":1,"name":"${'x'.repeat(1_001)}"}`, 40002],
    ['half a surrogate pair', '{"id":1,"name":"\\ud800"}', 40002],
    ['a list', '[]', 40002],
    ['nesting without end', '['.repeat(30_000), 40001],
    ['a body too large', `{"id":1,"name":"${'x'.repeat(70_000)}"}`, 41300],
  ])('%s', async (_what, body, error) => {
    const response = await post(body)
    expect(response).toMatchObject({ status: Math.floor(error / 100), body: { error } })
    expectErrorShape(response?.body)
  })

  it('names every field that is wrong', async () => {
    const response = await post('{"id":"x","name":1,"tag":2}')
    expect(response?.body).toMatchObject({
      message: expect.stringMatching(/(?=.*\bname\b)(?=.*\bid\b)(?=.*\btag\b)/),
    })
  })

  it.each([
    ['an unknown path', 'GET', '/nothing', 404, 40400],
    ['an unknown plant', 'GET', '/plants/404', 404, 40401],
    ['an invalid id', 'GET', '/plants/007', 400, 40004],
    ['another method', 'DELETE', '/plants', 405, 40500],
    ['another method on a plant', 'PUT', '/plants/1', 405, 40500],
    ['a path that can not be decoded', 'GET', '/plants/%zz', 404, 40400],
  ])('%s', async (_what, method, path, status, error) => {
    expect(await send(`${api.url}${path}`, { method })).toMatchObject({ status, body: { error } })
  })

  it.each([
    ['an unknown path', 'POST', '/nothing', 404],
    ['another method', 'PUT', '/plants', 405],
    ['another method on a plant', 'PATCH', '/plants/1', 405],
  ])('%s, whatever the body', async (_what, method, path, status) => {
    for (const body of ['{', '{}', 'x'.repeat(70_000)]) {
      expect(await send(`${api.url}${path}`, { method, body, headers: json })).toMatchObject({ status })
    }
  })

  it('lists the allowed methods of a path', async () => {
    expect((await send(`${api.url}/plants`, { method: 'PUT' }))?.headers.allow).toBe('GET, HEAD, POST')
  })

  it('responds 415 to another content type', async () => {
    expect(await post('id=1', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      status: 415,
      body: { error: 41500 },
    })
  })

  it.each([
    ['no token', { authorization: '' }, 40100, 'Bearer realm="plants"'],
    ['another scheme', { authorization: 'Basic eDp5' }, 40100, 'Bearer realm="plants"'],
    ['a wrong token', { authorization: `Bearer ${TOKEN}x` }, 40101, 'Bearer realm="plants", error="invalid_token"'],
  ])('%s', async (_what, headers, error, challenge) => {
    for (const response of [await post('{', { ...json, ...headers }), await readPlant(api.url, 1n, headers)]) {
      expect(response).toMatchObject({
        status: 401,
        body: { error },
        headers: { 'www-authenticate': challenge },
      })
      expectErrorShape(response?.body)
    }
  })
})

it('reads a header however many precede it', async () => {
  const { write, responses } = openRaw(api.url)
  write(`GET /plants/404 HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(2_100)}Authorization: Bearer ${TOKEN}\r\n\r\n`)
  await eventually(() => expect(responses()).toMatchObject([{ status: 404 }]))
})

it('no token is ever logged', () => {
  expect(readFileSync(api.logFile, 'utf8')).not.toContain(TOKEN)
})
