import { parse, stringify } from './exact-json.ts'
import { failureOf, fetchAgain } from './fetch-again.ts'
import { createClient, createConfig } from './generated/hey-api/client/index.ts'
import { createPlant, listPlants, type NewPlant, readPlant } from './generated/hey-api/index.ts'

const { BASE_URL = 'http://localhost:3000', TOKEN = '' } = process.env
const client = createClient(
  createConfig({ baseUrl: BASE_URL, auth: TOKEN, bodySerializer: stringify, fetch: exactFetch as typeof fetch }),
)

/** Gives the client ids as text, which its transformers make bigints: from a number they would take the digits left. */
async function exactFetch(request: Request): Promise<Response> {
  const response = await fetchAgain(request)
  // A proxy may respond with a page.
  if (!response.headers.get('content-type')?.includes('json')) return response
  const text = await response.text()
  const quoted = text && JSON.stringify(parse(text), (_key, part) => (typeof part === 'bigint' ? String(part) : part))
  return new Response(quoted || null, response)
}

/** Creates a plant. Resolves to its position. */
export async function create(body: NewPlant, key: string): Promise<string> {
  const { error, response } = await createPlant({ client, body, headers: { 'Idempotency-Key': key } })
  if (response?.ok !== true) throw failureOf(error, response)
  return response.headers.get('Plants-Position') ?? ''
}

/** Reads a plant that is known at this position. */
export async function read(id: bigint, position: string): Promise<string> {
  const { data, error, response } = await readPlant({ client, path: { id }, headers: { 'Plants-Position': position } })
  if (data === undefined) throw failureOf(error, response)
  return data.name
}

/** All plants, at least those known at this position. */
export async function* list(position: string) {
  const headers = { 'Plants-Position': position }
  for (let cursor: string | undefined; ; ) {
    const { data, error, response } = await listPlants({
      client,
      headers,
      query: { limit: 2, ...(cursor && { cursor }) },
    })
    if (data === undefined) throw failureOf(error, response)
    yield* data.items
    if (data.next === undefined) return
    cursor = data.next
  }
}
