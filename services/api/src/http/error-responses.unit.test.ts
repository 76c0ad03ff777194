import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import { enumeration, int64, propertiesOf } from '@plant-store/shared/plant/fields.ts'
import fastify from 'fastify'
import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { sendError } from './error-responses.ts'
import { acceptJsonBodies } from './request-body.ts'

it('an integer and one of a list pass exactly, and other values are described', async () => {
  const declared = { size: int64('required', '', [0n]), state: enumeration('optional', '', ['seed', 'grown']) }
  const app = fastify()
  app.setErrorHandler(sendError)
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
