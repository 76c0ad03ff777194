import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AppParts, createApp } from '@plant-store/api/src/app.ts'
import { ApiSettings } from '@plant-store/api/src/settings.ts'
import type { Field } from '@plant-store/shared/plant/fields.ts'
import { PLANT_EXAMPLES, PLANT_FIELDS, textsOf } from '@plant-store/shared/plant/plant.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { parse, parseDocument, stringify } from 'yaml'
import { valuesSchemaJson } from '../deploy/helm/values-schema.ts'
import { dashboardJson } from '../deploy/observability/dashboard.ts'
import { root } from './places.mjs'

/** Settings without a default; the app does not use them. */
const NOWHERE = { KAFKA_BROKERS: 'nowhere:1', REDIS_URL: 'redis://nowhere' }

/** The api's app with the settings in `env`, and these parts; without parts, for requests that run no operation. */
export async function createDefaultApp({ env = {}, ...parts }: Partial<AppParts> & { env?: NodeJS.ProcessEnv } = {}) {
  const unused = {} as never
  const { app } = await createApp({
    log: createLog('describe', 'error'),
    settings: readSettings(ApiSettings, { ...NOWHERE, ...env }),
    partitions: 1,
    strategy: unused,
    creation: unused,
    reader: unused,
    lister: unused,
    ...parts,
  })
  return app
}

/** The description of the HTTP interface with the default settings, in YAML: what the service serves. */
export async function defaultDescription(): Promise<string> {
  const app = await createDefaultApp()
  const { body } = await app.inject('/openapi.json')
  await app.close()
  // JSON is also YAML, and the YAML parser keeps integers exact.
  const document = parse(body, { intAsBigInt: true })
  const text = stringify(document, { blockQuote: 'literal', lineWidth: 0, aliasDuplicateObjects: false })
  return `# Written by \`npm run describe\`.\n${text}`
}

const { fields } = PLANT_FIELDS
const [full, bare] = [PLANT_EXAMPLES.full, PLANT_EXAMPLES.bare].map(textsOf)
/** Well-formed Unicode, for engines that match code points and for those that match UTF-16 units. */
const WELL_FORMED = '^[^\\uD800-\\uDFFF]*(?:[\\uD800-\\uDBFF][\\uDC00-\\uDFFF][^\\uD800-\\uDFFF]*)*$'
const STRINGS = /\[\n\s*("[^"]*"(?:,\n\s*"[^"]*")*)\n\s*\]/g

/** The documents with parts that derive from the fields of a plant. */
const DERIVED: Record<string, (written: string) => string> = {
  'docs/schemas/plant-created.v1.schema.json'(written) {
    const schema = JSON.parse(written)
    const required = fields.filter(({ presence }) => presence === 'required').map(({ name }) => name)
    schema.required = ['id', ...required]
    schema.properties = {
      id: schema.properties.id,
      ...Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)])),
    }
    schema.examples = [
      { id: '42', ...full },
      { id: '-9223372036854775808', ...bare },
    ]
    const text = JSON.stringify(schema, null, 2)
    return `${text.replace(STRINGS, (_, strings) => `[${strings.replace(/\n\s*/g, ' ')}]`)}\n`
  },

  'docs/asyncapi.yaml'(written) {
    const document = parseDocument(written)
    for (const [message, example, payload] of [
      ['PlantStored', 0, { id: '42', ...full }],
      ['PlantCreated', 0, { id: '42', ...full }],
      ['PlantCreated', 1, { id: '9007199254740993', ...bare }],
    ] as const)
      document.setIn(['components', 'messages', message, 'examples', example, 'payload'], payload)
    return document.toString({ lineWidth: 0 })
  },

  'docs/reference/events.md': marked([
    '| field | | value |',
    '|---|---|---|',
    '| `id` | required | a string: the same text as the key |',
    ...fields.map((field) => {
      const others = field.isLater ? '; any other value is ignored' : '; `null` is invalid'
      const [presence, more] = field.presence === 'required' ? ['required', ''] : ['optional', others]
      return `| \`${field.name}\` | ${presence} | ${inPayload(field)}${more} |`
    }),
  ]),

  'docs/reference/http-api.md': marked(
    fields
      .filter(({ presence }) => presence !== 'announced')
      .map(({ name, presence, schema }) => {
        const value = wordsOf(schema, 'any int64, exact', (length) => `Unicode text of 0 to ${length} code points`)
        return `- \`${name}\`${presence === 'required' ? '' : ', optional'}: ${value}.`
      }),
  ),
}

type Limits = { maxLength?: number; enum?: string[]; description: string }

/** The schema of a field in a payload. */
function schemaOf(field: Field): object {
  const { maxLength, enum: values, description } = field.schema as Limits
  const described = { description: `${description}: ${inPayload(field)}.` }
  const examples = field.examples.map(String)
  if (field.isLater) return { ...described, examples }
  if (values !== undefined) return { ...described, enum: values }
  if (maxLength === undefined) return { ...described, $ref: '#/properties/id', examples }
  return { ...described, type: 'string', maxLength, pattern: WELL_FORMED, examples }
}

/** The values of a field in a payload, in words. */
function inPayload({ schema }: Field): string {
  const int64 = 'a string: an int64 in canonical decimal, like the key'
  return wordsOf(schema, int64, (length) => `a string of 0 to ${length} Unicode code points`)
}

/** The values of a field, in words: these for an integer, and for a text of at most this length. */
function wordsOf(schema: Field['schema'], int64: string, text: (length: string) => string): string {
  const { maxLength, enum: values } = schema as Limits
  if (values !== undefined) return `one of ${values.map((value) => `\`"${value}"\``).join(', ')}`
  return maxLength === undefined ? int64 : text(maxLength.toLocaleString('en'))
}

/** Replaces the lines between the markers of the fields. */
function marked(lines: readonly string[]) {
  return (written: string): string => {
    const [before, after, ...more] = written.split(/(?<=<!-- fields -->\n)[\s\S]*(?=<!-- \/fields -->)/)
    if (after === undefined || more.length > 0) throw new Error('a document must have the markers of the fields once')
    return `${before}${lines.join('\n')}\n${after}`
  }
}

/** The files that `npm run describe` writes, by path, as they are and as they should be. */
export async function describedFiles(): Promise<{ path: string; written: string; text: string }[]> {
  const openapi = await defaultDescription()
  const files: Record<string, (written: string) => string> = {
    'docs/openapi.yaml': () => openapi,
    'deploy/helm/plant-store/values.schema.json': valuesSchemaJson,
    'deploy/observability/dashboard.json': dashboardJson,
    ...DERIVED,
  }
  return Object.entries(files).map(([name, derive]) => {
    const path = join(root, name)
    const written = readFileSync(path, 'utf8')
    return { path, written, text: derive(written) }
  })
}

if (import.meta.main) for (const { path, text } of await describedFiles()) writeFileSync(path, text)
