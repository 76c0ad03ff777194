import { bodyOf, ERRORS, type Failure, statusOf } from '@plant-store/api/src/http/errors.ts'
import { PLANT_FIELDS } from '@plant-store/shared/plant/plant.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
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
let text: string
let document: {
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, unknown>>
  [more: string]: unknown
}
let operations: [name: string, operation: Operation][]

beforeAll(async () => {
  text = await defaultDescription()
  document = parse(text, { intAsBigInt: true })
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  )
})

describe('the description', () => {
  it('is in docs/openapi.yaml, and what else npm run describe writes is up to date, too', async () => {
    for (const { path, written, text } of await describedFiles())
      expect(written === text, `${path} does not match the code: run npm run describe`).toBe(true)
  })

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(parse(text))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.0.0', license: { name: 'MIT' } },
      servers: [{ url: '/' }],
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    })
  })

  it('names the scope that each operation requires, in words: only OAuth 2 schemes can declare scopes', () => {
    for (const [name, { description, security }] of operations) {
      const scope = name.startsWith('get ') ? 'plants:read' : 'plants:write'
      expect([description, security], name).toEqual([expect.stringContaining(`scope \`${scope}\``), undefined])
    }
  })

  it('has what generators and linters ask for: tags, a contact, and names that collide with nothing', () => {
    const { tags, info, components } = document as { tags?: { name: string }[] } & typeof document
    expect(info).toMatchObject({ contact: { name: expect.any(String) } })
    for (const [name, { tags: own }] of operations) expect(own, name).toEqual(tags?.map((tag) => tag.name))
    // Go calls the constructor of Plant NewPlant, and many languages have a built-in Error.
    expect(components.schemas).toMatchObject({
      NewPlant: { 'x-go-name': 'PlantToCreate' },
      Error: { 'x-go-name': 'Failure' },
    })
  })

  it('speaks of no document that its reader does not have', () => {
    expect(text).not.toMatch(/specification/i)
  })

  it('has no dangling reference and no unused component', () => {
    const references = new Set(referencesIn(document))
    for (const reference of references) expect(resolve(reference), reference).toBeDefined()
    const { securitySchemes: _, ...components } = document.components
    const parts = Object.entries(components).flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    )
    expect([...references].sort()).toEqual(parts.sort())
  })

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
    const names = PLANT_FIELDS.fields.map(({ name }) => name)
    const fieldsOf = (name: string) =>
      Object.keys((schemas?.[name] as { properties: object } | undefined)?.properties ?? {}).sort()
    expect([fieldsOf('Plant'), fieldsOf('NewPlant')]).toEqual([names.sort(), ['id', ...names].sort()])
    expect(document.paths['/plants']?.post).toMatchObject({
      operationId: 'createPlant',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } },
      },
      responses: {
        200: {
          description: 'Plant response',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Plant' } } },
        },
        400: {
          description: expect.stringMatching(/^Unexpected error\n/),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    })
  })

  it('marks what the specification does not have as an addition', () => {
    for (const [name, operation] of operations) {
      if (name !== 'post /plants') expect(operation.description, name).toMatch(/addition/)
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) > 400) expect(resolved(response).description, `${name} ${status}`).toMatch(/addition/)
      }
    }
    for (const kind of ['headers', 'parameters']) {
      for (const [name, part] of Object.entries(document.components[kind] ?? {})) {
        expect((part as { description: string }).description, name).toMatch(/^An addition/)
      }
    }
  })

  it('keeps the digits of an id beyond 2^53', () => {
    expect(JSON.stringify(parse(text))).toContain('9007199254740992')
    expect(text).toContain('id: 9007199254740993\n')
  })
})

describe('the table of failures in the description', () => {
  it('lists every error', () => {
    const { Error: error } = document.components.schemas as { Error: { description: string } }
    expect(tableIn(error.description)).toEqual(failures.map((failure) => [ERRORS[failure][0], ERRORS[failure][1]]))
  })

  it('has what each response can say: in words and as examples', () => {
    for (const [name, { responses }] of operations) {
      const failing = Object.entries(responses).filter(([status]) => Number(status) >= 400)
      expect(failing.length, name).toBeGreaterThan(0)
      for (const [status, response] of failing) {
        const { description, content } = resolved(response)
        const { schema, examples } = content['application/json'] ?? {}
        expect(schema).toEqual({ $ref: '#/components/schemas/Error' })
        const named = Object.keys(examples ?? {}) as Failure[]
        expect(named.map(statusOf), `${name} ${status}`).toEqual(named.map(() => Number(status)))
        expect(tableIn(description)).toEqual(named.map((failure) => [...ERRORS[failure]]))
        for (const failure of named) expect(numbered(examples?.[failure]?.value)).toEqual(bodyOf(failure))
      }
    }
  })

  it('has nothing that no response can say', () => {
    const described = operations.flatMap(([, { responses }]) =>
      Object.values(responses).flatMap((response) => tableIn(resolved(response).description)),
    )
    expect([...new Set(described.map(([number]) => Number(number)))].sort((a, b) => a - b)).toEqual(
      failures.map((failure) => ERRORS[failure][0]),
    )
  })

  it('has the headers of a plant that a client may keep, and of a client that has it', () => {
    const { parameters, responses } = (document.paths['/plants/{id}']?.get ?? {}) as Operation & {
      parameters: object[]
    }
    expect(parameters).toContainEqual({ $ref: '#/components/parameters/If-None-Match' })
    for (const status of [200, 304]) {
      const { headers, content } = responses[status] as Response
      expect(Object.keys(headers)).toEqual(
        expect.arrayContaining(['Plants-Position', 'ETag', 'Cache-Control', 'Vary', 'RateLimit', 'X-Request-Id']),
      )
      expect(content === undefined).toBe(status === 304)
    }
  })

  it('has the place of a created plant, and nowhere else', () => {
    const located = operations.flatMap(([name, { responses }]) =>
      Object.entries(responses).flatMap(([status, response]) =>
        'Location' in resolved(response).headers ? [`${name} ${status}`] : [],
      ),
    )
    expect(located).toEqual(['post /plants 200'])
  })

  it('has the fields about the rate limit where they can be: not before the token is checked', () => {
    for (const [name, { responses }] of operations) {
      const limited = Object.entries(responses).flatMap(([status, response]) => {
        const { headers } = resolved(response)
        expect('RateLimit' in headers).toBe('RateLimit-Policy' in headers)
        return 'RateLimit' in headers ? [Number(status)] : []
      })
      const never = [401, 403, 405, 408, 417, 431]
      expect(limited, name).toEqual(
        Object.keys(responses)
          .map(Number)
          .filter((status) => !never.includes(status)),
      )
    }
  })

  it('describes the headers of each status', () => {
    const headers: Record<number, string[]> = {
      400: ['Cache-Control'],
      401: ['WWW-Authenticate', 'Cache-Control'],
      405: ['Allow', 'Cache-Control'],
      429: ['Retry-After', 'Cache-Control'],
      503: ['Retry-After', 'Cache-Control'],
    }
    for (const [name, { responses }] of operations) {
      for (const [status, expected] of Object.entries(headers)) {
        const described = Object.keys(resolved(responses[status] as Response).headers)
        expect(described, name).toEqual(expect.arrayContaining(expected))
      }
    }
  })
})

function referencesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) => (key === '$ref' ? [value] : referencesIn(value)))
}

function resolve(reference: string): unknown {
  const path = reference.replace(/^#\//, '').split('/')
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document)
}

function resolved(response: Response): Response {
  return response.$ref === undefined ? response : (resolve(response.$ref) as Response)
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
