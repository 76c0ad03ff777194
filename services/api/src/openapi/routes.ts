import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import { entityTagOf, sendTagged } from '../http/entity-tag.ts'

const JAVASCRIPT = 'text/javascript; charset=utf-8'

/** Each file has a separate route instead of one wildcard route, so that other paths and methods stay 404 and 405. */
const FILES: readonly [path: string, file: string, type: string][] = [
  ['/docs', import.meta.resolve('./page.html'), 'text/html; charset=utf-8'],
  ['/docs/page.js', import.meta.resolve('./page.js'), JAVASCRIPT],
  ['/docs/swagger-ui-bundle.js', import.meta.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js'), JAVASCRIPT],
  ['/docs/swagger-ui.css', import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css'), 'text/css; charset=utf-8'],
  ['/docs/favicon.png', import.meta.resolve('@fastify/swagger-ui/static/favicon-32x32.png'), 'image/png'],
]
/** The routes here hold no data. */
const PUBLIC = { config: { scope: 'public' }, schema: { hide: true } } as const

/** The page loads everything from this service, runs no inline script, and cannot be framed by another page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** GET /openapi.json */
export const descriptionRoute: FastifyPluginAsync = async (app) => {
  let respond: ConstantResponse
  app.addHook('onReady', async () => {
    // JSON.stringify throws on the bigints in the examples.
    respond = constantResponse(Buffer.from(stringify(app.swagger()) ?? ''), 'application/json')
  })
  app.get('/openapi.json', PUBLIC, (request, reply) => respond(request, reply))
}

/** GET /docs: a reference page that can try requests, and its files. */
export const docsPageRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' })
  })
  for (const [path, file, type] of FILES) app.get(path, PUBLIC, constantResponse(await readFile(new URL(file)), type))
}

type ConstantResponse = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** For a response that this process never changes. Clients may store it, but have to revalidate it. */
function constantResponse(body: Buffer, type: string): ConstantResponse {
  const etag = entityTagOf(body)
  return (_request, reply) => {
    reply.headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    return sendTagged(reply, etag, type, body)
  }
}
