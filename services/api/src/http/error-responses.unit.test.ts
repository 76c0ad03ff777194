import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import { enumeration, int64, propertiesOf } from '@plant-store/shared/plant/fields.ts'
import fastify from 'fastify'
import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { sendError } from './error-responses.ts'
import { HttpError } from './errors.ts'
import { acceptJsonBodies } from './request-body.ts'

function openApp() {
  const app = fastify()
  app.setErrorHandler(sendError)
  return app
}

it('a request that does not match the schema of an operation without plants is malformed', async () => {
  const app = openApp()
  const body = Type.Object({ size: Type.Integer() })
  app.post('/body', { schema: { body } }, async () => 'ok')
  app.get('/query', { schema: { querystring: body } }, async () => 'ok')
  const payload = { size: 'x' }
  const responses = [await app.inject({ method: 'POST', url: '/body', payload }), await app.inject('/query?size=x')]
  for (const response of responses) {
    const message = expect.stringMatching(/^the (body|querystring) does not match/)
    expect([response.statusCode, response.json()]).toEqual([400, { error: 40000, message }])
  }
})

it('an integer and one of a list pass exactly, and other values are described', async () => {
  const declared = { size: int64('required', '', [0n]), state: enumeration('optional', '', ['seed', 'grown']) }
  const app = openApp()
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  acceptJsonBodies(app, 1_000)
  const response = { 200: Type.Object(propertiesOf(declared, { type: 'integer' })) }
  const schema = { body: Type.Object(propertiesOf(declared)), response }
  const config = { operation: { failures: ['invalidPlant'] } } as never
  app.post('/', { schema, config }, async ({ body }) => body)
  const headers = { 'content-type': 'application/json' }
  const post = async (payload: string) => (await app.inject({ method: 'POST', url: '/', headers, payload })).body

  const valid = '{"size":-9007199254740993,"state":"grown"}'
  expect(await post(valid)).toBe(valid)
  expect(JSON.parse(await post('{"size":"1","state":"wilted"}')).message).toMatch(
    /size must be an integer between .* "1"; state must be one of "seed", "grown", but it is "wilted"$/,
  )
})

it.each([
  ['a failure of the table', new HttpError('duplicateId'), 40003],
  ['any error', new Error('broken'), 50000],
  ['a text', 'broken', 50000],
])('%s keeps the Error shape where the route has another schema for its status', async (_what, thrown, error) => {
  const app = openApp()
  const Other = Type.Object({ detail: Type.Number() })
  const schema = { response: { '4xx': Other, 400: Other, '5xx': Other, 500: Other, default: Other } }
  app.get('/', { schema }, async () => {
    throw thrown
  })
  const response = await app.inject('/')
  expect([response.statusCode, response.json()]).toEqual([
    Math.floor(error / 100),
    { error, message: expect.any(String) },
  ])
  expect(response.headers['content-type']).toBe('application/json')
})
