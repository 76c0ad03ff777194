import { type ClientResponse, send } from './client.ts'

export type Item = { id: bigint; name: string; tag?: string }
export type Page = { items: Item[]; next?: string; unreadable?: bigint[] }
export type PageResponse = ClientResponse & { page: Page }

type Query = { limit?: number | string; cursor?: string | undefined }

/** One page of the list, with every digit of its ids. Throws when the response is no page. */
export async function listPage(
  url: string,
  { limit, cursor }: Query = {},
  headers: Record<string, string> = {},
): Promise<PageResponse> {
  const query = new URLSearchParams()
  if (limit !== undefined) query.set('limit', String(limit))
  if (cursor !== undefined) query.set('cursor', cursor)
  const response = await send(`${url}/plants?${query.toString()}`, { headers })
  if (response?.status !== 200) throw new Error(`no page: ${response?.status} ${response?.text}`)
  return { ...response, page: parsePage(response.text) }
}

/** The whole list; each page is read from the next of these instances. */
export async function listAll(
  urls: readonly string[],
  limit: number,
  headers: Record<string, string> = {},
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  for (let turn = 0; turn === 0 || cursor !== undefined; turn++) {
    const { page } = await listPage(urls[turn % urls.length] as string, { limit, cursor }, headers)
    items.push(...page.items)
    cursor = page.next
  }
  return items
}

/** TypeScript's type of JSON.parse lacks the source text that a reviver gets. */
const parseWithSource = JSON.parse as (
  text: string,
  revive: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown

function parsePage(text: string): Page {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' ? BigInt(source) : value,
  ) as Page
}
