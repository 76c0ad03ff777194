import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import { requireAccess, type Strategy } from './auth/require-access.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import { createPlantRoute } from './create-plant/create-route.ts'
import { createAdmission, limitRates } from './http/admission.ts'
import { allowOrigins } from './http/allowed-origins.ts'
import { sendError, sendFailure, sendUnknownRoute } from './http/error-responses.ts'
import { limitQueuedResponses } from './http/queued-responses.ts'
import { acceptJsonBodies } from './http/request-body.ts'
import { expectsOther, hasEmptyId, headErrorOf } from './http/request-head.ts'
import { observeRequests, type RequestObserverOptions } from './http/request-observer.ts'
import { traceRequests } from './http/request-span.ts'
import { createServer, respondToNodeFailures, type ServerOptions } from './http/server.ts'
import { describeRoutes } from './openapi/document.ts'
import { descriptionRoute, docsPageRoutes } from './openapi/routes.ts'
import type { PlantLister } from './read-plants/list-plants.ts'
import { listPlantsRoute } from './read-plants/list-route.ts'
import type { PlantReader } from './read-plants/read-plant.ts'
import { readPlantRoute } from './read-plants/read-route.ts'
import { type HttpSettings, listed } from './settings.ts'

const JSON_TYPE = 'application/json'

export type AppParts = RequestObserverOptions & {
  settings: HttpSettings
  tls?: ServerOptions['tls']
  strategy: Strategy
  partitions: number
  creation: Pick<PlantCreation, 'create'>
  reader: PlantReader
  lister: PlantLister
  /** True if requests have spans. */
  isTraced?: boolean
}

/** Builds the Fastify application from its parts. It does not listen yet. */
export async function createApp(parts: AppParts) {
  const { log, settings, tls, strategy, partitions, creation, reader, lister, isTraced = false } = parts
  const app = createServer({ settings, partitions, log, tls })
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  app.setErrorHandler(sendError)
  limitQueuedResponses(app.server)
  const latestOn = respondToNodeFailures(app.server)
  app.decorateRequest('span', undefined)
  if (isTraced) traceRequests(app)
  observeRequests(app, parts)
  const allowedOrigins = listed(settings.CORS_ORIGINS)
  if (allowedOrigins.length > 0) await allowOrigins(app, allowedOrigins)
  const admission = createAdmission(app, latestOn, settings, log)
  app.addHook('onRequest', (request, reply, done) => {
    const fault = headErrorOf(request.raw)
    if (fault !== undefined) sendFailure(reply.header('connection', 'close'), 'malformedRequest', fault)
    else if (expectsOther(request.raw)) sendFailure(reply.header('connection', 'close'), 'expectationFailed')
    // Before the body is read: it does not matter on an unknown path. (With CORS, OPTIONS has a route.)
    else if (request.is404 || request.method === 'OPTIONS' || hasEmptyId(request.params))
      sendUnknownRoute(app, request, reply)
    else done()
  })
  acceptJsonBodies(app, settings.BODY_MAX_BYTES)

  // Counted, because checking the signature of a JWT costs more than any other check, and anyone can send one.
  await requireAccess(app, (token) => admission.counted(() => strategy(token)))
  await describeRoutes(app)
  await app.register(async (operations) => {
    admission.count(operations)
    if (settings.RATE_LIMIT_PER_MINUTE > 0) limitRates(operations, settings.RATE_LIMIT_PER_MINUTE)
    // Fastify adds a charset, which this media type does not have (RFC 8259).
    operations.addHook('onSend', (_request, reply, _payload, done) => {
      if (reply.getHeader('content-type') === `${JSON_TYPE}; charset=utf-8`) reply.type(JSON_TYPE)
      done()
    })
    await operations.register(createPlantRoute, { creation })
    await operations.register(readPlantRoute, { reader, partitions })
    await operations.register(listPlantsRoute, {
      lister,
      partitions,
      maxPlantsInFlight: settings.LISTED_PLANTS_MAX,
    })
  })
  await app.register(descriptionRoute)
  await app.register(docsPageRoutes)
  return { app, admission }
}
