import { bodyOf, ERRORS, type Failure, statusOf } from '@plant-store/api/src/http/errors.ts'
import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { defaultDescription, describedFiles } from '../local/describe.ts'

type Response = {
  $ref?: string
  description: string
  headers: Record<string, unknown>
  content: Record<string, { schema: unknown; examples: Record<string, { value: unknown }> }>
}
type Operation = { description: string; responses: Record<string, Response>; [more: string]: unknown }

const failures = Object.keys(ERRORS) as Failure[]
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

it('each error is in the table of failures, and in the responses that can have it, in words and as an example', () => {
  const { Error: error } = document.components.schemas as { Error: { description: string } }
  expect(tableIn(error.description)).toEqual(failures.map((failure) => [...ERRORS[failure]]))
  const described = new Set<Failure>()
  for (const [name, { responses }] of operations) {
    for (const [status, response] of Object.entries(responses).filter(([status]) => Number(status) >= 400)) {
      const { description, content } = resolved(response)
      const { schema, examples = {} } = content['application/json'] ?? {}
      expect(schema).toEqual({ $ref: '#/components/schemas/Error' })
      const named = Object.keys(examples) as Failure[]
      expect(named.map(statusOf), `${name} ${status}`).toEqual(named.map(() => Number(status)))
      expect(tableIn(description)).toEqual(named.map((failure) => [...ERRORS[failure]]))
      for (const failure of named) expect(numbered(examples[failure]?.value)).toEqual(bodyOf(failure))
      for (const failure of named) described.add(failure)
    }
  }
  expect(described).toEqual(new Set(failures))
})

function resolved({ $ref, ...response }: Response): Omit<Response, '$ref'> {
  if ($ref === undefined) return response
  const path = $ref.replace(/^#\//, '').split('/')
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document) as Response
}

/**
 * The rows of a table in Markdown that begin with a number, as they are shown: HTML goes unseen, what is escaped does
 * not.
 */
function tableIn(markdown: string): [number, string][] {
  return [...markdown.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, number, message = '']) => [
    Number(number),
    message.replaceAll(/\\([!-/:-@[-`{-~])|<[^>]*>/g, '$1'),
  ])
}

function numbered(body: unknown): unknown {
  const { error, ...rest } = body as { error: bigint }
  return { error: Number(error), ...rest }
}
