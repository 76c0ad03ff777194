import createClient from 'openapi-fetch'
import { parse, stringify } from './exact-json.ts'
import { fetchAgain } from './fetch-again.ts'
import type { components, paths } from './generated/openapi-fetch.d.ts'

type NewPlant = components['schemas']['NewPlant']

const { BASE_URL = 'http://localhost:3000', TOKEN } = process.env
const plants = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { authorization: `Bearer ${TOKEN}` },
  bodySerializer: stringify,
  fetch: exactFetch,
})

/** Reads bodies exactly. The client calls `json` only if the response has a length, which a proxy may remove. */
async function exactFetch(request: Request): Promise<Response> {
  const response = await fetchAgain(request)
  const text = await response.text()
  const exact = new Response(text || null, response)
  exact.headers.set('content-length', String(text.length))
  return Object.assign(exact, { json: async () => parse(text) })
}

/** Creates a plant. Resolves to its position. */
export async function create(body: NewPlant, key: string): Promise<string> {
  const { error, response } = await plants.POST('/plants', { body, params: { header: { 'Idempotency-Key': key } } })
  if (!response.ok) throw failureOf(error, response)
  return response.headers.get('Plants-Position') ?? ''
}

/** Reads a plant that is known at this position. */
export async function read(id: bigint, position: string): Promise<string> {
  const params = { path: { id }, header: { 'Plants-Position': position } }
  const { data, error, response } = await plants.GET('/plants/{id}', { params })
  if (data === undefined) throw failureOf(error, response)
  return data.name
}

/** All plants, at least those known at this position. */
export async function* list(position: string) {
  const header = { 'Plants-Position': position }
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 2, ...(cursor && { cursor }) }
    const { data, error, response } = await plants.GET('/plants', { params: { header, query } })
    if (data === undefined) throw failureOf(error, response)
    yield* data.items
    if (data.next === undefined) return
    cursor = data.next
  }
}

/** The failure that a response reports; one of a proxy may have no body. */
const failureOf = (error: { message: string } | undefined, response: Response) =>
  new Error(error?.message || `the response has status ${response.status}`)
