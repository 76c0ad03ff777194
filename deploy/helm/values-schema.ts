import { ApiSettings } from '@plant-store/api/src/settings.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import type { TSchema } from 'typebox'

type Schema = Record<string, unknown>
type Properties = Record<string, TSchema>

/** The image decides them, and the manifests know them. */
const FIXED = ['HOST', 'PORT', 'OPS_PORT']
/**
 * Helm takes a name without a value for none, not for its default: it has to be refused for these. Not for the
 * replicas of a service, whose number another autoscaler may decide.
 */
const NEEDED = [
  ...['image', 'extraEnv', 'api', 'projector', 'topics', 'setup', 'strimzi', 'plantctl', 'backup', 'monitoring'],
  ...['networkPolicy', 'service', 'ingress', 'httpRoute', 'autoscaling', 'args', 'runbookUrl', 'egress', 'enabled'],
  ...['repository', 'port', 'minReplicas', 'averageCPU', 'schedule', 'suspend', 'activeDeadlineSeconds', 'size'],
]
/** They may also be of these types. */
const NOT_ONLY_TEXT: Record<string, string> = { OTEL_TRACES_SAMPLER_ARG: 'number', PLANTS_TABLE: 'boolean' }
const text = { type: 'string' }
const name = { type: 'string', minLength: 1 }
const flag = { type: 'boolean' }
const open = { type: 'object' }
const texts = { type: 'object', additionalProperties: text }
const atLeast = (minimum: number) => ({ type: 'integer', minimum })
const listOf = (items: Schema) => ({ type: 'array', items })
const oneOf = (...choices: string[]) => ({ enum: choices })
const $ = (definition: string) => ({ $ref: `#/$defs/${definition}` })
/** Whatever else is given is refused. */
const closed = (properties: Schema, required = NEEDED.filter((needed) => needed in properties)) => ({
  ...{ type: 'object', properties, required },
  additionalProperties: false,
})
const pod = closed({
  ...{ nodeSelector: texts, tolerations: listOf(open), affinity: open, imagePullSecrets: listOf(closed({ name })) },
  ...{ priorityClassName: text, serviceAccountName: text },
})

/** A setting may be in clear text unless a file can have it. */
const settingsOf = (all: Properties) =>
  Object.fromEntries(
    Object.entries(all)
      .filter(([setting]) => !FIXED.includes(setting) && !setting.endsWith('_FILE') && !(`${setting}_FILE` in all))
      .map(([setting, property]) => [setting, valueSchema(setting, property)]),
  )

/** Certificates of authorities are no secrets: they may be in a ConfigMap. */
const filesOf = (all: Properties) =>
  Object.fromEntries(
    Object.keys(all)
      .filter((setting) => setting.endsWith('_FILE'))
      .map((setting) => [setting, $(setting.endsWith('_CA_FILE') ? 'authorities' : 'key')]),
  )

/** The schema of a setting in a value file: YAML has booleans for on and off. A number is no text: 007 would be 7. */
function valueSchema(setting: string, property: TSchema): Schema {
  const { type, minimum, maximum, pattern, enum: choices } = property as Schema & { enum?: string[] }
  if (choices?.includes('on') || choices?.includes('true')) return { enum: [...choices, true, false] }
  if (choices !== undefined) return { enum: choices }
  if (type === 'integer') return { type, minimum, maximum }
  const other = NOT_ONLY_TEXT[setting]
  return { type: other === undefined ? 'string' : ['string', other], ...(pattern !== undefined && { pattern }) }
}

/** Not additionalProperties: false, so that a refusal lists the names. */
const named = (definition: 'settings' | 'files', more: Schema = {}) => ({
  ...$(definition),
  properties: more,
  propertyNames:
    Object.keys(more).length === 0
      ? $(`names-of-${definition}`)
      : { anyOf: [$(`names-of-${definition}`), oneOf(...Object.keys(more))] },
})

/** The values of one program; only this program has the settings in `more`. */
const programOf = (own: Schema, more: Properties = {}) =>
  closed({
    settings: named('settings', settingsOf(more)),
    files: named('files', filesOf(more)),
    extraEnv: listOf($('variable')),
    resources: $('resources'),
    ...own,
  })

const service = closed({ type: oneOf('ClusterIP', 'LoadBalancer'), port: atLeast(1), annotations: texts })
const ingress = closed({
  ...{ enabled: flag, className: text, annotations: texts, hosts: listOf(name), tls: listOf(open) },
})
const httpRoute = closed({ enabled: flag, annotations: texts, parentRefs: listOf(open), hostnames: listOf(name) })
const cronJob = { enabled: flag, schedule: name, timeZone: text, suspend: flag, activeDeadlineSeconds: atLeast(1) }
const autoscaling = closed({ enabled: flag, minReplicas: atLeast(1), maxReplicas: atLeast(1), averageCPU: name })

const strimzi = { cluster: text, authentication: oneOf('scram-sha-512', 'tls'), replicas: atLeast(1) }

/** The schema of the chart's values, with the names and limits of the settings as the programs check them. */
export function valuesSchemaJson(): string {
  const ofApi = Object.entries(ApiSettings.properties).filter(([setting]) => !(setting in SERVICE_SETTINGS))
  const settings = settingsOf(SERVICE_SETTINGS)
  const files = { ...filesOf(SERVICE_SETTINGS), NODE_EXTRA_CA_CERTS: $('authorities') }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    description: 'Written by npm run describe.',
    ...closed({
      image: closed({
        ...{ repository: name, tag: text, digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' } },
        pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
      }),
      ...{ settings: named('settings'), files: named('files'), extraEnv: listOf($('variable')), pod },
      api: programOf({ replicas: atLeast(1), service, ingress, httpRoute, autoscaling }, Object.fromEntries(ofApi)),
      projector: programOf({ replicas: atLeast(1) }),
      topics: oneOf('job', 'strimzi', 'none'),
      setup: programOf({}),
      strimzi: closed(strimzi, Object.keys(strimzi)),
      plantctl: programOf({ ...cronJob, args: listOf(text) }),
      backup: programOf({ ...cronJob, existingClaim: text, size: name, storageClass: text }),
      monitoring: closed({ enabled: flag, labels: texts, runbookUrl: { type: 'string', pattern: '^\\S+$' } }),
      networkPolicy: closed({
        ...{ enabled: flag, clients: listOf(open), monitoring: listOf(open), egress: listOf(open) },
      }),
      global: open, // Helm sets it.
    }),
    $defs: {
      settings: { type: 'object', properties: settings },
      files: { type: 'object', properties: files },
      'names-of-settings': oneOf(...Object.keys(settings)),
      'names-of-files': oneOf(...Object.keys(files)),
      key: closed({ existingSecret: name, key: name }, ['existingSecret', 'key']),
      authorities: {
        anyOf: [$('key'), closed({ existingConfigMap: name, key: name }, ['existingConfigMap', 'key'])],
      },
      variable: { type: 'object', properties: { name, value: text }, required: ['name'] },
      resources: closed({ requests: open, limits: open, claims: { type: 'array' } }),
    },
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}
