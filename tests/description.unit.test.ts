import { bodyOf, ERRORS, type Failure, statusOf } from '@plant-store/api/src/http/errors.ts'
import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { defaultDescription, describedFiles } from '../local/describe.ts'

type Response = {
  $ref?: string
  content: Record<string, { schema: unknown; examples: Record<string, { value: unknown }> }>
}
type Operation = { responses: Record<string, Response>; [more: string]: unknown }

let document: {
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, unknown>>
  [more: string]: unknown
}
let operations: [name: string, operation: Operation][]

beforeAll(async () => {
  document = parse(await defaultDescription(), { intAsBigInt: true })
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  )
})

describe('the description', () => {
  it('is in docs/openapi.yaml, and what else npm run describe writes is up to date, too', async () => {
    for (const { path, written, text } of await describedFiles())
      expect(written === text, `${path} does not match the code: run npm run describe`).toBe(true)
  })

  // generated.contract has Spectral check that it is valid, without dangling references and unused components.
  it('has the operation of the specification', () => {
    const plant = {
      name: { type: 'string', description: 'The name of the plant' },
      tag: { type: 'string', description: 'Tag to specify the type of the plant' },
    }
    const required = PLANT_FIELDS.fields.flatMap(({ name, presence }) => (presence === 'required' ? [name] : []))
    const { schemas } = document.components
    expect(schemas).toMatchObject({
      Plant: { type: 'object', required, properties: plant },
      NewPlant: {
        type: 'object',
        required: [...required, 'id'],
        properties: {
          ...plant,
          id: { type: 'integer', format: 'int64', description: 'Identification number of the plant' },
        },
      },
      Error: {
        type: 'object',
        required: ['error', 'message'],
        properties: { error: { type: 'integer', format: 'int32' }, message: { type: 'string' } },
      },
    })
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/' }], security: [{ bearer: [] }] })
    const names = PLANT_FIELDS.fields.map(({ name }) => name)
    const fieldsOf = (name: string) =>
      Object.keys((schemas?.[name] as { properties: object } | undefined)?.properties ?? {}).sort()
    expect([fieldsOf('Plant'), fieldsOf('NewPlant')]).toEqual([names.sort(), ['id', ...names].sort()])
    const contentOf = (name: string) => ({ 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } })
    expect(document.paths['/plants']?.post).toMatchObject({
      operationId: 'createPlant',
      requestBody: { required: true, content: contentOf('NewPlant') },
      responses: {
        200: { description: 'Plant response', content: contentOf('Plant') },
        400: { description: expect.stringMatching(/^Unexpected error\n/), content: contentOf('Error') },
      },
    })
  })
})

it('each error is described by the responses that can have it, as an example with its body', () => {
  const described = new Set<Failure>()
  for (const [name, { responses }] of operations) {
    for (const [status, response] of Object.entries(responses).filter(([status]) => Number(status) >= 400)) {
      const { schema, examples = {} } = resolved(response).content['application/json'] ?? {}
      expect(schema).toEqual({ $ref: '#/components/schemas/Error' })
      for (const [failure, { value }] of Object.entries(examples) as [Failure, { value: { error: bigint } }][]) {
        expect(statusOf(failure), `${name} ${status}`).toBe(Number(status))
        expect({ ...value, error: Number(value.error) }).toEqual(bodyOf(failure))
        described.add(failure)
      }
    }
  }
  expect(described).toEqual(new Set(Object.keys(ERRORS)))
})

function resolved({ $ref, ...response }: Response): Omit<Response, '$ref'> {
  if ($ref === undefined) return response
  const path = $ref.replace(/^#\//, '').split('/')
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document) as Response
}
