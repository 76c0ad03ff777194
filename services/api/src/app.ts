import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import { requireAccess } from './auth/require-access.ts'
import type { Strategy } from './auth/strategy.ts'
import type { PlantCreation } from './create-plant/create-plant.ts'
import { createPlantRoute } from './create-plant/create-route.ts'
import { createAdmission } from './http/admission.ts'
import { answerError, answerFailure, answerUnknownRoute, namesNothing } from './http/error-responses.ts'
import { trackLatestResponses } from './http/latest-response.ts'
import { limitRates } from './http/rate-limit.ts'
import { answerNodesOwnCases } from './http/raw-responses.ts'
import { readJsonBodies } from './http/request-body.ts'
import { faultOfHead } from './http/request-head.ts'
import { createRequestObserver, type RequestObserverOptions } from './http/request-observer.ts'
import { createServer } from './http/server.ts'
import { docsPageRoutes } from './openapi/docs-page.ts'
import { describeRoutes } from './openapi/document.ts'
import { descriptionRoute } from './openapi/route.ts'
import type { PlantLister } from './read-plants/list-plants.ts'
import { listPlantsRoute } from './read-plants/list-route.ts'
import type { PlantReader } from './read-plants/read-plant.ts'
import { readPlantRoute } from './read-plants/route.ts'
import type { HttpLimits } from './settings.ts'

export type AppParts = RequestObserverOptions & {
  limits: HttpLimits
  strategies: readonly Strategy[]
  partitions: number
  creation: PlantCreation
  reader: PlantReader
  lister: PlantLister
}

/** The Fastify application, from its parts; it listens nowhere yet. */
export async function createApp(parts: AppParts) {
  const { log, limits, strategies, partitions, creation, reader, lister } = parts
  const observer = createRequestObserver(parts)
  const app = createServer(limits, observer, log)
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  app.setErrorHandler(answerError)
  const latestOn = trackLatestResponses(app.server)
  answerNodesOwnCases(app.server, latestOn)
  observer.observe(app)
  const admission = createAdmission(app, latestOn, {
    maxRequests: limits.REQUESTS_MAX,
    maxConnections: limits.CONNECTIONS_MAX,
  })
  app.addHook('onRequest', (request, reply, done) => {
    const fault = faultOfHead(request.raw)
    if (fault !== undefined) answerFailure(reply.header('connection', 'close'), 'malformedRequest', fault)
    // Before the body is read: what it holds plays no part where there is nothing.
    else if (request.is404 || namesNothing(request.params)) answerUnknownRoute(app, request, reply)
    else done()
  })
  readJsonBodies(app, { maxBytes: limits.BODY_MAX_BYTES, maxDepth: limits.BODY_MAX_DEPTH })

  // A JWT's signature takes more than any other refusal, and who sends it may be anybody.
  await requireAccess(
    app,
    strategies.map((strategy) => (token) => admission.counted(() => strategy(token))),
  )
  const description = await describeRoutes(app)
  await app.register(async (operations) => {
    admission.count(operations)
    if (limits.RATE_LIMIT_PER_MINUTE > 0) await limitRates(operations, limits.RATE_LIMIT_PER_MINUTE)
    const textLimits = {
      nameMaxCodePoints: limits.NAME_MAX_CODE_POINTS,
      tagMaxCodePoints: limits.TAG_MAX_CODE_POINTS,
    }
    await operations.register(createPlantRoute, { creation, textLimits })
    await operations.register(readPlantRoute, { reader, partitions })
    await operations.register(listPlantsRoute, {
      ...{ lister, partitions, maxPlantsUnderWay: limits.LISTED_PLANTS_MAX },
    })
  })
  await app.register(descriptionRoute, { description })
  await app.register(docsPageRoutes)
  return { app, admission }
}
