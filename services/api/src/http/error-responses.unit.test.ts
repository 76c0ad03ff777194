import fastify from 'fastify'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { sendError } from './error-responses.ts'
import { type Failure, HttpError } from './errors.ts'

it('a request that does not match the schema of an operation without plants is malformed', async () => {
  const app = fastify()
  app.setErrorHandler(sendError)
  const body = Type.Object({ size: Type.Integer() })
  app.post('/body', { schema: { body } }, async () => 'ok')
  app.get('/query', { schema: { querystring: body } }, async () => 'ok')
  const requests = [
    { method: 'POST', url: '/body', payload: { size: 'x' } },
    { method: 'GET', url: '/query?size=x' },
  ] as const
  for (const request of requests) {
    const response = await app.inject(request)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      { error: 40000, message: expect.stringMatching(/^the (body|querystring) does not match/) },
    ])
  }
})

describe('a failure', () => {
  const Other = Type.Object({ detail: Type.Number() })

  it.each<[string, unknown, number]>([
    ['a failure of the table', new HttpError('duplicateId' satisfies Failure), 40003],
    ['an internal failure of the table', new HttpError('internal'), 50000],
    ['any error', new Error('broken'), 50000],
    ['a text', 'broken', 50000],
  ])('keeps the Error shape where the route has another schema for its status: %s', async (_what, thrown, error) => {
    const app = fastify()
    app.setErrorHandler(sendError)
    const schema = { response: { '4xx': Other, 400: Other, '5xx': Other, 500: Other, default: Other } }
    app.get('/', { schema }, async () => {
      throw thrown
    })
    const response = await app.inject('/')
    expect(response.statusCode).toBe(Math.floor(error / 100))
    expect(response.json()).toEqual({ error, message: expect.any(String) })
    expect(response.headers['content-type']).toBe('application/json')
  })
})
