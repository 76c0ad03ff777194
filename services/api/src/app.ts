import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { Logger } from '@plant-store/shared/process/log.ts'
import fastify, { type FastifyBaseLogger, type FastifyReply, LogController } from 'fastify'
import { requireBearer } from './auth/bearer.ts'
import type { TokenCheck } from './auth/tokens.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import { createPlantRoute } from './create-plant/route.ts'
import { answerError, answerFailure, answerUnknownRoute } from './http/error-answers.ts'
import { parseJsonBody } from './http/json-body.ts'
import { answerNodesOwnCases } from './http/raw-answers.ts'
import type { PlantReader } from './read-plants/read-plant.ts'
import { readPlantRoute } from './read-plants/route.ts'

const MAX_BODY_BYTES = 65_536
/** A whole request must have arrived within this time of its first byte. */
const REQUEST_TIMEOUT_MS = 30_000
const MAX_PATH_PARAMETER_CHARACTERS = 1_000

export type AppParts = {
  log: Logger
  callerOf: TokenCheck
  partitions: number
  creation: PlantCreation
  reader: PlantReader
}

/** The Fastify application, from its parts; it listens nowhere yet. */
export async function createApp({ log, callerOf, partitions, creation, reader }: AppParts) {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARACTERS },
    http: { requireHostHeader: false },
    // Answered by answerNodesOwnCases.
    clientErrorHandler() {},
    frameworkErrors: (error, request, reply: FastifyReply) => {
      answerError(error, request, reply)
    },
    // While closing, answered by the hook below: Fastify's own 503 has another shape.
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  app.setErrorHandler(answerError)
  answerNodesOwnCases(app.server)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseJsonBody(body),
  )

  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onRequest', async (request, reply) => {
    // RFC 9112 3.2; Node's own check would answer without a body.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      return answerFailure(reply, 'malformedRequest', 'the Host header is missing')
    }
    if (closing) return answerFailure(reply.header('connection', 'close'), 'unavailable')
    // Before the body is read: what it holds plays no part where there is nothing.
    if (request.is404) return answerUnknownRoute(app, request, reply)
  })

  await app.register(async (operations) => {
    await requireBearer(operations, callerOf)
    await operations.register(createPlantRoute, { creation })
    await operations.register(readPlantRoute, { reader, partitions })
  })
  return app
}
