import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { components, paths } from './generated/plant-store.d.ts'

// Tries each operation of a running service with nothing but the types that the description gives.

type NewPlant = components['schemas']['NewPlant']

const { BASE_URL: baseUrl = '', TOKEN: token = '' } = process.env
const plants = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const monstera: NewPlant = { id: 4711, name: 'Monstera', tag: 'indoor' }
const expected = { name: 'Monstera', tag: 'indoor' }

const created = await plants.POST('/plants', {
  body: monstera,
  params: { header: { 'Idempotency-Key': 'tried-by-a-client' } },
})
assert.deepEqual(created.data, expected)
const position = created.response.headers.get('Plants-Position') ?? ''

const read = await plants.GET('/plants/{id}', {
  params: { path: { id: monstera.id }, header: { 'Plants-Position': position } },
})
assert(read.data !== undefined)
const { name, tag }: { name: string; tag?: string } = read.data
assert.deepEqual({ name, tag }, expected)

const page = await plants.GET('/plants', {
  params: { query: { limit: 1_000 }, header: { 'Plants-Position': position } },
})
assert(page.data !== undefined)
const { items, next }: { items: NewPlant[]; next?: string } = page.data
assert.deepEqual({ items, next }, { items: [monstera], next: undefined })

const refused = await plants.POST('/plants', { body: monstera })
assert(refused.error !== undefined)
const { error, message }: components['schemas']['Error'] = refused.error
assert.equal(error, 40003)
assert.match(message, /duplicate id/)

// @ts-expect-error: a plant has a name.
const nameless = await plants.POST('/plants', { body: { id: 4712 } })
assert.equal(nameless.error?.error, 40002)

// @ts-expect-error: there is no such path.
const nowhere = await plants.GET('/flowers')
assert.equal(nowhere.response.status, 404)
