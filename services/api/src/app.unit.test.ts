import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Plant, PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDefaultApp } from '../../../local/describe.ts'
import { plantWith } from '../../../tests/support/generated-plants.ts'

const ORIGIN = 'https://app.example'
const POSITION = { partition: 3 as Partition, offset: 17 as Offset }
const plants = new Map<bigint, Plant>([
  [1n, plantWith({ name: 'Monstera', tag: 'indoor' })],
  [2n, plantWith({ name: 'Monstera', tag: '' })],
  [3n, plantWith({ name: 'Monstera' })],
])

let close = async () => {}
afterEach(() => close())

/** The app around operations that know three plants, and list these claims. */
async function openApp(env: Record<string, string> = {}, claims: Claim[] = []) {
  const app = await createDefaultApp({
    env,
    // The part of a token before a dot is its caller.
    strategy: async (token) => ({ caller: token.split('.')[0] ?? '', scopes: ['plants:read', 'plants:write'] }),
    creation: { create: async ({ plant }) => ({ is: plants.has(plant.id) ? 'duplicate' : 'created', ...POSITION }) },
    reader: {
      read: async (id) => {
        const plant = plants.get(id)
        return plant === undefined ? { is: 'noSuchPlant' } : { is: 'plant', plant, ...POSITION }
      },
    },
    lister: { list: async () => ({ is: 'page', claims, shown: new Map() }) },
  })
  close = () => app.close()
  return (method: 'GET' | 'HEAD' | 'POST', url: string, headers: Record<string, string> = {}, payload?: string) =>
    app.inject({
      ...{ method, url, headers: { authorization: 'Bearer a', 'content-type': 'application/json', ...headers } },
      ...(payload !== undefined && { payload }),
    })
}

describe('a plant, which never changes', () => {
  it('can be kept by a client, for one token', async () => {
    const send = await openApp()
    const { statusCode, headers, body } = await send('GET', '/plants/1')
    expect([statusCode, body]).toEqual([200, '{"name":"Monstera","tag":"indoor"}'])
    expect(headers).toMatchObject({
      etag: expect.stringMatching(/^"[\w-]{22}"$/),
      'cache-control': 'private, max-age=86400, immutable',
      vary: 'Authorization',
      'content-type': 'application/json',
      'plants-position': '3-17',
    })
    const tags = await Promise.all([1, 2, 3, 1].map(async (id) => (await send('GET', `/plants/${id}`)).headers.etag))
    expect([new Set(tags).size, tags[3]]).toEqual([3, tags[0]])
  })

  it.each(['GET', 'HEAD'] as const)('is not sent again to a client that has it: %s', async (method) => {
    const send = await openApp()
    const { headers } = await send('GET', '/plants/1')
    const tag = String(headers.etag)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, `"a,b",W/"x" ,${tag}`, '*', ' * ']) {
      const kept = await send(method, '/plants/1', { 'if-none-match': known })
      // The length of the body, which is not sent, or none.
      const length = method === 'HEAD' ? headers['content-length'] : undefined
      expect([kept.statusCode, kept.body, kept.headers['content-length']], known).toEqual([304, '', length])
      for (const name of ['etag', 'cache-control', 'vary', 'plants-position'])
        expect(kept.headers[name], name).toBe(headers[name])
    }
    for (const unknown of ['"other"', tag.slice(1, -1), '', '"*"', '"a,*,b"', `${tag.slice(0, -1)}x"`]) {
      const sent = await send(method, '/plants/1', { 'if-none-match': unknown })
      const anew = { date: sent.headers.date, 'x-request-id': sent.headers['x-request-id'] }
      expect([sent.statusCode, sent.headers], unknown).toEqual([200, { ...headers, ...anew }])
    }
  })

  it.each([ORIGIN, 'https://other.example'])('is told from the plant of %s and of another token', async (origin) => {
    const send = await openApp({ CORS_ORIGINS: ORIGIN })
    expect((await send('GET', '/plants/1', { origin })).headers.vary).toBe('Origin, Authorization')
  })
})

it('a list has every digit of its ids; those that this release cannot read are not among the items', async () => {
  const claim = (id: bigint, plant?: Plant): Claim => ({ id: id as PlantId, plant, offset: POSITION.offset, eventId })
  const [name, eventId] = ['\u0000"🌱', '' as EventId]
  const claims = [claim(2n ** 63n - 1n, plantWith({ name, tag: '' })), claim(-(2n ** 63n))]
  const { body } = await (await openApp({}, claims))('GET', '/plants')
  const items = `[{"id":9223372036854775807,"name":${JSON.stringify(name)},"tag":""}]`
  expect(body).toBe(`{"items":${items},"unreadable":[-9223372036854775808]}`)
  await close()
  const empty = await (await openApp())('GET', '/plants')
  expect(empty.body).toBe('{"items":[]}')
  expect(empty.headers).not.toHaveProperty('plants-position')
})

it.each([
  ['a list', 'GET', '/plants', 200],
  ['an invalid list', 'GET', '/plants?limit=x', 400],
  ['a plant that may be created', 'GET', '/plants/4', 404],
  ['an unknown method', 'POST', '/plants/1', 405],
  ['a duplicate', 'POST', '/plants', 400],
] as const)('what may be different at the next request is never kept: %s', async (_what, method, url, status) => {
  const send = await openApp()
  // A condition is about what a request with success would show.
  const { statusCode, headers } = await send(method, url, { 'if-none-match': '*' }, '{"id":1,"name":"n"}')
  const { 'cache-control': kept, etag, vary, location } = headers
  expect([statusCode, kept, etag, vary, location]).toEqual([status, 'no-store', ...Array(3).fill(undefined)])
})

it.each(['7', '-9223372036854775808', '9007199254740993', '1e3'])(
  'a create says where its plant is: %s',
  async (id) => {
    const send = await openApp()
    const { statusCode, headers, body } = await send('POST', '/plants', {}, `{"id":${id},"name":"n"}`)
    expect([statusCode, body]).toEqual([200, '{"name":"n"}'])
    expect(headers.location).toBe(`/plants/${id === '1e3' ? '1000' : id}`)
  },
)

describe('a limit of requests a minute', () => {
  const limitIn = ({ headers }: { headers: Record<string, unknown> }) =>
    Object.entries(headers).filter(([name]) => /^ratelimit|retry-after/.test(name))

  it('is announced by the fields of the current draft and of the earlier one, also without a body, until it is reached', async () => {
    const send = await openApp({ RATE_LIMIT_PER_MINUTE: '3' })
    const bare = await send('HEAD', '/plants/1', { 'if-none-match': '*' })
    const paths = ['/plants/1', '/plants/4', '/plants/1']
    const responses = [bare, ...(await Promise.all(paths.map((path) => send('GET', path))))]
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([304, 200, 404, 429])
    for (const [n, response] of responses.entries()) {
      const [, t = ''] = /;t=([1-9]|[1-5]\d|60)$/.exec(String(response.headers.ratelimit)) ?? []
      const remaining = Math.max(0, 2 - n)
      expect(Object.fromEntries(limitIn(response))).toEqual({
        'ratelimit-policy': '"caller";q=3;w=60',
        ratelimit: `"caller";r=${remaining};t=${t}`,
        'ratelimit-limit': '3',
        'ratelimit-remaining': String(remaining),
        'ratelimit-reset': t,
        ...(n === 3 && { 'retry-after': t }),
      })
    }
    expect(responses[3]?.json()).toMatchObject({ error: 42900 })
  })

  it('applies to each caller, whichever of its tokens it uses', async () => {
    const send = await openApp({ RATE_LIMIT_PER_MINUTE: '2' })
    const statusOf = async (token: string) =>
      (await send('GET', '/plants/1', { authorization: `Bearer ${token}` })).statusCode
    expect(await Array.fromAsync(['ann.old', 'ann.new', 'ann.old', 'bob.old'], statusOf)).toEqual([200, 200, 429, 200])
  })

  it('lasts a minute, also when the clock of the machine is set back', async () => {
    const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')] as const
    onTestFinished(() => void vi.restoreAllMocks())
    const send = await openApp({ RATE_LIMIT_PER_MINUTE: '1' })
    const statusAt = async (minutes: number, monotonicMs: number) => {
      clocks[0].mockReturnValue(minutes * 60_000)
      clocks[1].mockReturnValue(monotonicMs)
      const { statusCode, headers } = await send('GET', '/plants/1')
      return [statusCode, headers['ratelimit-reset']]
    }
    // Sums of fractions are rounded.
    const first = 8_159.4789942943125
    expect(await statusAt(100, first)).toEqual([200, '60'])
    expect(await statusAt(40, first + 59_999)).toEqual([429, '1'])
    expect(await statusAt(40, first + 60_001)).toEqual([200, '60'])
  })

  it('is not mentioned without one, without a valid token, or for what needs no token', async () => {
    expect(limitIn(await (await openApp())('GET', '/plants/1'))).toEqual([])
    await close()
    const send = await openApp({ RATE_LIMIT_PER_MINUTE: '1' })
    expect(limitIn(await send('GET', '/plants/1', { authorization: 'none' }))).toEqual([])
    expect(limitIn(await send('GET', '/openapi.json'))).toEqual([])
    expect((await send('GET', '/plants/1')).statusCode).toBe(200)
  })
})
