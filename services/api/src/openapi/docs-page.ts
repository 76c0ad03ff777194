import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { answerConstant, constantAnswer } from '../http/constant-response.ts'

const JAVASCRIPT = 'text/javascript; charset=utf-8'

/** Each has a route of its own, not one for all with a wildcard: so other paths and methods stay 404 and 405. */
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

/** The page gets everything from here, runs no inline script, and is in no other page's frame. */
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

/** GET /docs: a reference page that can try a request, and its files; open to everybody, as they hold no data. */
export const docsPageRoutes: FastifyPluginAsync = async (app) => {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' })
  })
  for (const { path, file, type } of FILES) {
    const answer = constantAnswer(await readFile(new URL(file)), type)
    app.get(path, { config: { scope: 'public' }, schema: { hide: true } }, (request, reply) =>
      answerConstant(answer, request, reply),
    )
  }
}
