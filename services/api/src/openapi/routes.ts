import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { stringify } from 'lossless-json'
import type { Document } from './document.ts'

const JAVASCRIPT = 'text/javascript; charset=utf-8'

/** Each file has a separate route instead of one wildcard route, so that other paths and methods stay 404 and 405. */
const FILES = [
  { path: '/docs', file: import.meta.resolve('./page.html'), type: 'text/html; charset=utf-8' },
  { path: '/docs/page.js', file: import.meta.resolve('./page.js'), type: JAVASCRIPT },
  {
    path: '/docs/swagger-ui-bundle.js',
    file: import.meta.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js'),
    type: JAVASCRIPT,
  },
  {
    path: '/docs/swagger-ui.css',
    file: import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css'),
    type: 'text/css; charset=utf-8',
  },
  {
    path: '/docs/favicon.png',
    file: import.meta.resolve('@fastify/swagger-ui/static/favicon-32x32.png'),
    type: 'image/png',
  },
]

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

/** GET /openapi.json. Public, because it holds no data. */
export const descriptionRoute: FastifyPluginAsync<{ description: () => Document }> = async (app, { description }) => {
  let response: ConstantResponse
  app.addHook('onReady', async () => {
    // JSON.stringify throws on the bigints in the examples.
    const text = stringify(description()) ?? ''
    response = constantResponse(Buffer.from(text), 'application/json')
  })
  app.get('/openapi.json', { config: { scope: 'public' }, schema: { hide: true } }, (request, reply) =>
    sendConstant(response, request, reply),
  )
}

/** GET /docs: a reference page that can try requests, and its files. Public, because they hold no data. */
export const docsPageRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' })
  })
  for (const { path, file, type } of FILES) {
    const response = constantResponse(await readFile(new URL(file)), type)
    app.get(path, { config: { scope: 'public' }, schema: { hide: true } }, (request, reply) =>
      sendConstant(response, request, reply),
    )
  }
}

/** A response that does not change while this process runs. */
type ConstantResponse = { body: Buffer; type: string; etag: string }

function constantResponse(body: Buffer, type: string): ConstantResponse {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  return { body, type, etag: `"${digest}"` }
}

/** Sends the response, or 304 to a client that has it. Clients may store it, but have to revalidate it. */
function sendConstant(
  { body, type, etag }: ConstantResponse,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  if (isKnown(etag, request.headers['if-none-match'])) return reply.code(304).send()
  return reply.type(type).send(body)
}

// RFC 9110 13.1.2: a list of tags, compared weakly, or any.
function isKnown(etag: string, known = ''): boolean {
  return known.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
