import { beforeAll, expect, it } from 'vitest'
import { readPlant, send } from './support/client.ts'
import { AUDIENCE, ISSUER, openIssuer } from './support/issuer.ts'
import { openPlantStore, type PlantStore, type RunningApi } from './support/plant-store.ts'

let store: PlantStore
let api: RunningApi
let issuer: Awaited<ReturnType<typeof openIssuer>>

beforeAll(async () => {
  issuer = await openIssuer()
  store = await openPlantStore()
  const jwts = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: issuer.url }
  ;[api] = await Promise.all([store.startApi(jwts), store.startProjector()])
  return async () => {
    await store.end()
    await issuer.end()
  }
})

const json = { 'content-type': 'application/json' }
const post = (body: string, headers: Record<string, string> = json) =>
  send(`${api.url}/plants`, { method: 'POST', headers, body })

it('responds 200 with the plant and nothing else, and 400 for an existing id', async () => {
  const first = await post('{"id":1,"name":"Monstera","tag":"indoor","colour":"green"}')
  expect(first).toMatchObject({ status: 200, body: { name: 'Monstera', tag: 'indoor' } })
  expect(first?.body).not.toHaveProperty('id')
  expect(await post('{"id":1,"name":"Monstera"}')).toMatchObject({ status: 400, body: { error: 40003 } })
  expect((await readPlant(api.url, 1n))?.body).toEqual(first?.body)
})

it('leaves an absent tag out, keeps an empty one, and finds the plant by its exact id', async () => {
  for (const [id, text] of [
    [9223372036854775807n, '{"id":9223372036854775807,"name":""}'],
    [-9007199254740993n, '{"id":-9007199254740993.0,"name":"x","tag":""}'],
  ] as const) {
    const { id: _, ...plant } = JSON.parse(text)
    expect((await post(text))?.body).toEqual(plant)
    expect((await readPlant(api.url, id))?.body).toEqual(plant)
    expect((await readPlant(api.url, id ^ 1n))?.status).toBe(404)
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
  expect(await post(body, { ...retried, 'idempotency-key': 'a b' })).toMatchObject({ body: { error: 40005 } })
})

it('takes an Idempotency-Key for one of its caller: a retry by another caller is a different request', async () => {
  const retryAs = async (claims: object) =>
    post('{"id":51,"name":"Fern"}', {
      ...{ ...json, 'idempotency-key': 'key-1' },
      authorization: `Bearer ${await issuer.sign({ sub: 'tests', ...claims })}`,
    })
  expect(await retryAs({ jti: '1' })).toMatchObject({ status: 200 })
  expect(await retryAs({ jti: '2' })).toMatchObject({ status: 200 })
  expect(await retryAs({ sub: 'ann' })).toMatchObject({ body: { error: 40003 } })
  // The label of the token without claims is "tests", too.
  const byToken = await post('{"id":51,"name":"Fern"}', { ...json, 'idempotency-key': 'key-1' })
  expect(byToken).toMatchObject({ body: { error: 40003 } })
})

it('sends a consistency token with each 200 and each duplicate, and accepts it', async () => {
  const created = await post('{"id":60,"name":"Aloe"}')
  const position = String(created?.headers['plants-position'])
  expect((await post('{"id":60,"name":"Aloe"}'))?.headers['plants-position']).toBe(position)
  const read = await readPlant(api.url, 60n, { 'plants-position': position })
  expect(read).toMatchObject({ status: 200, headers: { 'plants-position': position } })
  expect(await readPlant(api.url, 61n, { 'plants-position': 'x' })).toMatchObject({ body: { error: 40006 } })
})
