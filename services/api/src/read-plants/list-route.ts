import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import { PLANT_EXAMPLES, Plant, type PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { formatToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { notCovered, TOKEN_HEADER, tokenOf } from '../http/consistency-token.ts'
import { HttpError } from '../http/errors.ts'
import type { OperationFacts } from '../openapi/operation.ts'
import { type Cursor, decodeCursor, encodeCursor, firstCursor } from './cursor.ts'
import type { PlantLister } from './list-plants.ts'
import { createPageBudget } from './page-budget.ts'

const MAX_LIMIT = 1_000
const DEFAULT_LIMIT = 100

const CANONICAL_INTEGER = /^[1-9][0-9]{0,3}$/
const PAGE_READ_TIMEOUT_MS = 30_000

const IdOut = Type.Unsafe<PlantId>({
  type: 'integer',
  format: 'int64',
  description: 'Identification number of the plant',
})

/** A plant in a list: a Plant with its id. */
const PlantItem = Type.Object({ id: IdOut, ...Plant.properties }, { title: 'PlantItem' })

const PlantPage = Type.Object(
  {
    items: Type.Array(PlantItem, {
      description: 'Plants. A page that is not the last one may have none, and ids in `unreadable` instead',
    }),
    next: Type.Optional(
      Type.String({
        format: 'plants-cursor',
        description: 'The `cursor` of the next page; absent at the end of the list',
      }),
    ),
    unreadable: Type.Optional(
      Type.Array(IdOut, {
        description:
          'Ids on this page that are taken by events which this release cannot read; absent when there are none',
      }),
    ),
  },
  { title: 'PlantPage', description: 'A page of the list of plants' },
)

const SCHEMA = {
  operationId: 'listPlants',
  summary: 'Lists the plants, page by page',
  description:
    'An addition. From the first page to the one without `next` each plant comes once, also while ' +
    'plants are created; the order never changes.',
  querystring: Type.Object({
    limit: Type.Optional(
      Type.Integer({
        ...{ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
        description: 'Most plants on the page',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        format: 'plants-cursor',
        description: 'The `next` of the page before; without it the list begins',
      }),
    ),
  }),
  response: { 200: PlantPage },
}

const FACTS: OperationFacts = {
  response: 'A page of the list of plants',
  failures: ['invalidLimit', 'invalidCursor', 'invalidPosition', 'coverageGap'],
  requestHeaders: ['Plants-Position'],
  responseHeaders: ['Cache-Control'],
  responseExample: {
    items: [
      { id: 7, ...PLANT_EXAMPLES.full },
      { id: 9_007_199_254_740_993n, ...PLANT_EXAMPLES.bare },
    ],
    next: encodeCursor({ partition: 1 as Partition, listed: [1, 1] }),
  },
  links: {
    listPlants: {
      operationId: 'listPlants',
      parameters: { cursor: '$response.body#/next' },
      description: 'The next page, unless this is the last one.',
    },
  },
}

/** GET /plants */
export const listPlantsRoute: FastifyPluginAsyncTypebox<{
  lister: PlantLister
  partitions: number
  maxPlantsInFlight: number
}> = async (app, { lister, partitions, maxPlantsInFlight }) => {
  const budget = createPageBudget({ maxPlants: maxPlantsInFlight, readTimeoutMs: PAGE_READ_TIMEOUT_MS })
  app.get(
    '/plants',
    {
      config: { scope: 'plants:read', operation: FACTS },
      schema: SCHEMA,
      // The schema only documents the query: `parsePageQuery` validates it, without a conversion before.
      validatorCompiler: () => (value: unknown) => ({ value }),
    },
    async ({ query, headers, caller }, reply) => {
      const request = parsePageQuery(query as Record<string, string | string[]>, partitions)
      const token = tokenOf(headers[TOKEN_HEADER], partitions)
      const page = await budget.run(caller, request.limit, reply.raw, () => lister.list({ ...request, token }))
      if (page === undefined) throw new HttpError('overloaded', 'too many plants are being listed; try again')
      if (page.is !== 'page') throw notCovered(token, page.cause)
      reply.header('cache-control', 'no-store')
      if (page.shown.size > 0) reply.header(TOKEN_HEADER, formatToken(page.shown))
      return {
        ...itemsOf(page.claims),
        ...(page.next !== undefined && { next: encodeCursor(page.next) }),
      }
    },
  )
}

function itemsOf(claims: readonly Claim[]) {
  const items = claims.flatMap(({ id, plant }) => (plant === undefined ? [] : [{ id, ...plant }]))
  const unreadable = claims.flatMap(({ id, plant }) => (plant === undefined ? [id] : []))
  return { items, ...(unreadable.length > 0 && { unreadable }) }
}

/** A query parameter: absent, sent once, or sent several times. */
type Parameter = string | readonly string[] | undefined

/** The limit and cursor of a request. Throws an HttpError when one is invalid. */
export function parsePageQuery({ limit, cursor }: { limit?: Parameter; cursor?: Parameter }, partitions: number) {
  return { limit: parseLimit(limit), cursor: parseCursor(cursor, partitions) }
}

// Not TypeBox's conversion: it turns "1.5" and "true" into 1.
function parseLimit(limit: Parameter): number {
  if (limit === undefined) return DEFAULT_LIMIT
  if (typeof limit !== 'string' || !CANONICAL_INTEGER.test(limit) || Number(limit) > MAX_LIMIT) {
    throw new HttpError('invalidLimit')
  }
  return Number(limit)
}

function parseCursor(cursor: Parameter, partitions: number): Cursor {
  if (cursor === undefined) return firstCursor(partitions)
  const decoded = typeof cursor === 'string' ? decodeCursor(cursor, partitions) : undefined
  if (decoded === undefined) throw new HttpError('invalidCursor')
  return decoded
}
