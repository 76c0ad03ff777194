import swagger from '@fastify/swagger'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import { ERRORS, ErrorBody, type Failure } from '../http/errors.ts'
import { failureResponses, headerReferences, sharedResponses, tableOf } from './failure-responses.ts'
import { REQUEST_HEADERS, REQUEST_HEADERS_OF_EVERY_OPERATION, RESPONSE_HEADERS, responseHeadersOf } from './headers.ts'
import { extractComponents } from './schemas.ts'

/** The security scheme of every operation. Scopes are in the descriptions: only those of OAuth 2 can be declared. */
const SCHEME = 'bearer'
const TAG = 'plants'
/** The version of the specification: the changes since then are additions. */
const INTERFACE_VERSION = '1.0.0'
const NOT_MODIFIED = 'Not Modified (an addition): what the client has is still what is shown'
/** Names for generators of Go, which call the constructor of Plant NewPlant. */
const GO_NAMES: Record<string, string> = { NewPlant: 'PlantToCreate', Error: 'Failure' }

type Config = Required<Pick<FastifyContextConfig, 'operation' | 'scope'>>
type Content = { content?: Record<string, object> }
type Operation = {
  operationId: string
  description?: string
  tags?: string[]
  parameters?: object[]
  requestBody?: Content
  responses: Record<string, Content & { $ref?: string }>
}

/** An OpenAPI document; ids in its examples are bigints. */
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, object>>
}

/**
 * Describes the routes that are added to this app from now on, from their schemas and their `config.operation`.
 * `app.swagger` returns the OpenAPI document when the app is ready.
 */
export async function describeRoutes(app: FastifyInstance): Promise<void> {
  const configs = new Map<string, Config>()
  app.addHook('onRoute', ({ schema, config }: RouteOptions) => {
    if (schema?.operationId !== undefined) configs.set(schema.operationId, config as Config)
  })
  const { bodyLimit = 0 } = app.initialConfig
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Plant Store',
        version: INTERFACE_VERSION,
        description: introduction({ maxBodyBytes: bodyLimit, requestTimeoutMs: app.server.requestTimeout }),
        contact: { name: 'The operators of this Plant Store' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: [{ name: TAG, description: 'Create, read and list plants' }],
      servers: [{ url: '/' }],
      security: [{ [SCHEME]: [] }],
      components: {
        securitySchemes: {
          [SCHEME]: { type: 'http', scheme: 'bearer', description: "The client's auth token" },
        },
      },
    },
    transformObject: (documented) => {
      const { openapiObject } = documented as unknown as { openapiObject: Document }
      return complete(openapiObject, configs) as object
    },
  })
}

function complete({ components, ...generated }: Document, configs: Map<string, Config>): Document {
  // No route has the schema of the Error: failures have their own serializer. Its description is the table of failures,
  // which the reference page shows after the operations.
  const error = { ...ErrorBody, description: errorDescription() }
  const { tree, schemas } = extractComponents({ paths: generated.paths, error })
  const paths = mapValues(tree.paths, (item) =>
    mapValues(item, (operation) => withFacts(operation, configs.get(operation.operationId) as Config)),
  )
  return {
    ...generated,
    paths,
    components: {
      ...components,
      schemas: mapValues(schemas, (schema, name) => ({
        ...schema,
        ...(GO_NAMES[name] && { 'x-go-name': GO_NAMES[name] }),
      })),
      parameters: mapValues(REQUEST_HEADERS, (header, name) => ({ name, in: 'header', ...header })),
      headers: RESPONSE_HEADERS,
      responses: sharedResponses(paths),
    },
  }
}

function withFacts(operation: Operation, { operation: facts, scope }: Config): Operation {
  const { requestBody, parameters = [], responses } = operation
  const { bodyExamples: examples, responseExample: example, links, responseHeaders = [] } = facts
  const headersOf = (status: number) =>
    headerReferences(['Plants-Position', ...responseHeaders, ...responseHeadersOf(status)])
  const notModified: Record<string, object> = responseHeaders.includes('ETag')
    ? { 304: { description: NOT_MODIFIED, headers: headersOf(304) } }
    : {}
  const requestHeaders = [...facts.requestHeaders, ...REQUEST_HEADERS_OF_EVERY_OPERATION]
  return {
    ...operation,
    tags: [TAG],
    description: `${operation.description}\n\nThe token needs the scope \`${scope}\`.`,
    parameters: [...parameters, ...requestHeaders.map((name) => ({ $ref: `#/components/parameters/${name}` }))],
    ...(requestBody && { requestBody: withMedia(requestBody, { ...(examples && { examples }) }) }),
    responses: {
      ...mapValues(responses, (response, status) => ({
        ...withMedia(response, { ...(example !== undefined && { example }) }),
        description: facts.response,
        headers: headersOf(Number(status)),
        ...(links && { links }),
      })),
      ...notModified,
      ...failureResponses(facts.failures),
    },
  }
}

function withMedia<T extends Content>(described: T, more: object): T {
  return { ...described, content: mapValues(described.content ?? {}, (media) => ({ ...media, ...more })) }
}

function mapValues<T, R>(record: Record<string, T>, map: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}

/** The introduction to the interface, in Markdown. It is short, so that the page `/docs` opens with the operations. */
function introduction({ maxBodyBytes, requestTimeoutMs }: { maxBodyBytes: number; requestTimeoutMs: number }) {
  return `\
A store of plants. Every Plant Store has \`POST /plants\` with its 200 and 400. Another one may lack what is marked as
an addition.

- **Authentication**: every operation needs \`Authorization: Bearer <ACCESS_TOKEN>\` and, as an addition, the scope of
  the operation.
- **Names**: languages with a built-in \`Error\` need another name for that schema, and Go for \`NewPlant\`, too.
- **Ids** are exact int64. JavaScript's JSON parser rounds integers beyond 2^53; use one that keeps every digit.
- **Texts** are counted in Unicode code points, and unpaired surrogates are rejected. Unknown fields are ignored.
- **Limits**: a body has at most ${maxBodyBytes} bytes, and a request must arrive within ${requestTimeoutMs / 1_000} s.
  The operator sets deadlines for creates (by default 10 s) and reads (2 s).
- **HEAD** works like GET, without the body. Every failure is an Error; its numbers are listed below the operations.
`
}

function errorDescription(): string {
  return `\
Every failure has this body. A number never changes its meaning; its first three digits are the HTTP status. The message
is for people, and may be more specific than the one listed here.

${tableOf(Object.keys(ERRORS) as Failure[])}
`
}
