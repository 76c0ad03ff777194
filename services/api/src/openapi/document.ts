import swagger from '@fastify/swagger'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import { ErrorBody } from '../http/errors.ts'
import { about } from './about.ts'
import { failureResponses, headerReferences, sharedResponses } from './failure-responses.ts'
import {
  REQUEST_HEADERS,
  REQUEST_HEADERS_OF_EVERY_OPERATION,
  RESPONSE_HEADERS,
  responseHeadersOf,
} from './headers.ts'
import { NO_FACTS } from './operation.ts'
import { takeOutComponents } from './schemas.ts'

/** The security scheme of every operation; with a scope, that is what OpenAPI calls a role. */
const SCHEME = 'bearer'

type Config = Pick<FastifyContextConfig, 'operation' | 'scope'>
type Content = { content?: Record<string, object> }
type Operation = {
  operationId: string
  parameters?: object[]
  requestBody?: Content
  responses: Record<string, Content & { $ref?: string }>
}

/** An OpenAPI document; ids in its examples are bigints. */
export type Document = {
  openapi: string
  info: { version: string; license: { name: string }; description: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, object>>
}

/**
 * Describes the routes that are added to this app from now on: their schemas as they validate and serialise, and the
 * facts of their `config.operation`. The result gives the OpenAPI document, once the app is ready.
 */
export async function describeRoutes(app: FastifyInstance): Promise<() => Document> {
  const configs = new Map<string, Config>()
  app.addHook('onRoute', ({ schema, config }: RouteOptions) => {
    if (schema?.operationId !== undefined) configs.set(schema.operationId, config ?? {})
  })
  const { bodyLimit = 0 } = app.initialConfig
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Plant Store',
        version: '1.0.0',
        description: about({ maxBodyBytes: bodyLimit, requestTimeoutMs: app.server.requestTimeout }),
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      security: [{ [SCHEME]: [] }],
      components: {
        securitySchemes: {
          [SCHEME]: { type: 'http', scheme: 'bearer', description: "The client's auth token" },
        },
      },
    },
  })
  return () => complete(app.swagger() as unknown as Document, configs)
}

function complete({ components, ...generated }: Document, configs: Map<string, Config>): Document {
  // The error's schema is in no route: an answer that fails has a serializer of its own.
  const { tree, schemas } = takeOutComponents({ paths: generated.paths, ErrorBody })
  const paths = mapValues(tree.paths, (item) =>
    mapValues(item, (operation) => withFacts(operation, configs.get(operation.operationId) ?? {})),
  )
  return {
    ...generated,
    paths,
    components: {
      ...components,
      schemas,
      parameters: mapValues(REQUEST_HEADERS, (header, name) => ({ name, in: 'header', ...header })),
      headers: RESPONSE_HEADERS,
      responses: sharedResponses(paths),
    },
  }
}

function withFacts(operation: Operation, { operation: facts = NO_FACTS, scope }: Config): Operation {
  const { requestBody, parameters = [], responses } = operation
  const { bodyExamples: examples, answerExample: example, links } = facts
  const requestHeaders = [...facts.requestHeaders, ...REQUEST_HEADERS_OF_EVERY_OPERATION]
  return {
    ...operation,
    ...(scope && { security: [{ [SCHEME]: [scope] }] }),
    parameters: [
      ...parameters,
      ...requestHeaders.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(requestBody && { requestBody: withMedia(requestBody, { ...(examples && { examples }) }) }),
    responses: {
      ...mapValues(responses, (response, status) => ({
        ...withMedia(response, { ...(example !== undefined && { example }) }),
        description: facts.answer,
        headers: headerReferences([...facts.responseHeaders, ...responseHeadersOf(Number(status))]),
        ...(links && { links }),
      })),
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
