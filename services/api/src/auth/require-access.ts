import auth from '@fastify/auth'
import type { Scope } from '@plant-store/shared/access/scope.ts'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { HttpError } from '../http/errors.ts'
import { bearerTokenOf, insufficientScope, invalidToken } from './bearer.ts'
import type { Caller, Strategy } from './strategy.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication, which comes before every operation; empty where none is needed. */
    caller: Caller
    scopes: readonly Scope[] | undefined
    bearer: { token: string; refusal?: HttpError } | undefined
  }
  interface FastifyContextConfig {
    /** The scope that a request needs; `public`: not even a token. A route without it keeps the app from starting. */
    scope?: Scope | 'public'
  }
}

/**
 * Lets only requests reach a route whose token one of the strategies accepts, with the scope that the route declares,
 * before their body is read. It holds for each route of the app, wherever it is registered after this.
 */
export async function requireAccess(app: FastifyInstance, strategies: readonly Strategy[]): Promise<void> {
  await app.register(auth)
  app.decorateRequest('caller', '')
  app.decorateRequest('scopes', undefined)
  app.decorateRequest('bearer', undefined)
  demandScopes(app)
  const authenticate = app.auth(strategies.map(attemptOf), { relation: 'or' })
  app.addHook('onRequest', function (request, reply, done) {
    if (isPublic(request)) return done()
    request.bearer = { token: bearerTokenOf(request.raw) }
    authenticate.call(this, request, reply, done)
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const needed = request.routeOptions.config.scope as Scope
    done(isPublic(request) || request.scopes?.includes(needed) ? undefined : insufficientScope(needed))
  })
}

/** Of several strategies one has to accept the token; when none does, what the last one says is answered. */
function attemptOf(strategy: Strategy) {
  return async (request: FastifyRequest): Promise<void> => {
    const bearer = request.bearer as NonNullable<FastifyRequest['bearer']>
    // One that knew the token and refused it has the last word.
    if (bearer.refusal !== undefined) throw bearer.refusal
    const access = await strategy(bearer.token).catch((refusal: HttpError) => {
      bearer.refusal = refusal
      throw refusal
    })
    if (access === undefined) throw invalidToken()
    request.caller = access.caller
    request.scopes = access.scopes
  }
}

function isPublic(request: FastifyRequest): boolean {
  return request.routeOptions.config.scope === 'public'
}

function demandScopes(app: FastifyInstance): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    routes.push(route)
  })
  // Not yet in the hook above: a plugin's own hooks, which may declare the scopes of its routes, come after it.
  app.addHook('onReady', async () => {
    const bare = routes.filter(({ config }) => config?.scope === undefined)
    if (bare.length === 0) return
    const names = bare.map(({ method, url }) => `${String(method)} ${url}`).join(', ')
    throw new Error(`declare which scope it takes to reach a route, in its config.scope: ${names}`)
  })
}
