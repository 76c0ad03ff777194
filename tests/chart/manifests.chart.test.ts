import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Program, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from '../../local/places.mjs'
import { installPython } from '../../local/toolchain/python.ts'
import { RULES } from '../observability/prometheus.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unlessMissing } from '../support/unless-missing.ts'
import {
  CHART,
  findChartPrograms,
  type Manifest,
  manifestOf,
  type PodSpec,
  README,
  RELEASE,
  render,
  run,
  template,
  valuesFile,
} from './helm.ts'
import { MINIMAL, TOKENS, VALUES } from './values.ts'

const programs = await findChartPrograms()
const { helm, kubeScore } = programs ?? { helm: '', kubeScore: '' }
const validate = await unlessMissing('kubernetes-validate was', async () =>
  join(await installPython('kubernetes-validate', join(root, 'tests/chart/requirements.txt')), 'kubernetes-validate'),
)
const OLDEST_AND_NEWEST = ['1.27', '1.37']
/** The findings that the README lists as left. */
const LEFT = [...(README.split('## Findings of linters')[1] ?? '').matchAll(/^\| (.+?) \| /gm)]
  .map(([, finding]) => finding)
  .filter((finding) => finding !== 'finding')

describe.runIf(programs !== undefined)('linters', () => {
  it('find what the README says, and nothing else', async () => {
    const found = new Set<string | undefined>()
    for (const [name, values] of VALUES) {
      const args = ['--strict', '--values', valuesFile(values), '--kube-version', '1.34.0']
      const linted = await run(helm, 'lint', CHART, ...args)
      expect(linted.code, name + linted.stdout).toBe(0)
      for (const [, finding] of linted.stdout.matchAll(/^\[\w+\] Chart.yaml: (.+)$/gm)) found.add(finding)
      const scored = await run(kubeScore, 'score', '--output-format', 'ci', ...(await filesOfTemplate(values)))
      expect(scored.stdout, name).toContain('[OK]')
      for (const [, finding] of scored.stdout.matchAll(/^\[(?:CRITICAL|WARNING)\] [^:]+: (?:\(\S+\) )?(.+)$/gm))
        found.add(finding)
    }
    expect(found).toEqual(new Set(LEFT))
  })

  it.runIf(validate !== undefined).each(OLDEST_AND_NEWEST)(
    'kubernetes-validate knows every field: Kubernetes %s',
    async (version) => {
      const files = await Promise.all(VALUES.map(([, values]) => filesOfTemplate(values)))
      const others = /apiVersion: (monitoring.coreos|kafka.strimzi|gateway.networking)/
      const ours = files.flat().filter((file) => !others.test(readFileSync(file, 'utf8')))
      const validated = await run(validate ?? '', '--strict', '--kubernetes-version', version, ...ours)
      expect(validated.code, validated.stdout + validated.stderr).toBe(0)
    },
  )
})

describe.runIf(programs !== undefined)('contradicting values', () => {
  const kafka = (more: object) => ({ settings: { ...MINIMAL.settings, ...more }, api: MINIMAL.api })
  const api = (more: object) => ({ ...MINIMAL, api: { ...MINIMAL.api, ...more } })
  const inConfigMap = (setting: string) => ({ ...MINIMAL, files: { [setting]: { existingConfigMap: 'c', key: 'k' } } })
  const scram = { KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' }
  const oauth = { KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SASL_MECHANISM: 'OAUTHBEARER' }
  it.each<[message: string, values: object | string]>([
    ['settings needs KAFKA_BROKERS', { ...MINIMAL, settings: { REDIS_URL: 'redis://redis' } }],
    ['needs exactly one of REDIS_URL, REDIS_SENTINELS and', kafka({ REDIS_CLUSTER_NODES: 'n:1' })],
    [
      'REDIS_SENTINELS and REDIS_SENTINEL_NAME belong',
      { ...MINIMAL, settings: { KAFKA_BROKERS: 'k:1', REDIS_SENTINELS: 's:1' } },
    ],
    ['REDIS_URL has a password', kafka({ REDIS_URL: 'redis://me:secret@redis' })],
    ['api needs KAFKA_SASL_MECHANISM', kafka({ KAFKA_SECURITY_PROTOCOL: 'SASL_SSL' })],
    ['api needs KAFKA_SECURITY_PROTOCOL SASL_SSL', kafka({ KAFKA_SASL_MECHANISM: 'PLAIN' })],
    // An empty setting counts as unset.
    ['setup needs settings with KAFKA_SASL_USERNAME', kafka({ ...scram, KAFKA_SASL_USERNAME: '' })],
    ['api needs files with KAFKA_SASL_PASSWORD_FILE', kafka(scram)],
    ['api needs files with KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE', kafka(oauth)],
    [
      'files of api has REDIS_CERT_FILE, which needs REDIS_KEY_FILE',
      { ...MINIMAL, files: { REDIS_CERT_FILE: { existingSecret: 'r', key: 'c' } } },
    ],
    ['the api accepts nobody', { ...MINIMAL, api: {} }],
    ['JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL belong', api({ settings: { JWT_ISSUER: 'i' } })],
    ['extraEnv sets REDIS_URL, which settings or files of api has', { ...MINIMAL, extraEnv: [{ name: 'REDIS_URL' }] }],
    [
      'extraEnv has the text of KAFKA_SASL_PASSWORD',
      { ...MINIMAL, extraEnv: [{ name: 'KAFKA_SASL_PASSWORD', value: 'secret' }] },
    ],
    ['extraEnv has REDIS_URL with a password', api({ extraEnv: [{ name: 'REDIS_URL', value: 'redis://:secret@r' }] })],
    ['OTEL_EXPORTER_OTLP_ENDPOINT has a password', kafka({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:secret@c:4318' })],
    ['extraEnv sets PORT, which the chart has', api({ extraEnv: [{ name: 'PORT' }] })],
    ['extraEnv sets PLANTS_TOPIC, which belongs in settings', api({ extraEnv: [{ name: 'PLANTS_TOPIC' }] })],
    ['projector.replicas is 13, but PLANTS_PARTITIONS is 12', { ...MINIMAL, projector: { replicas: 13 } }],
    ['minReplicas is more than maxReplicas', api({ autoscaling: { enabled: true, minReplicas: 9 } })],
    ['set api.ingress.hosts', api({ ingress: { enabled: true } })],
    ['set api.httpRoute.parentRefs', api({ httpRoute: { enabled: true } })],
    ["'/files/REDIS_PASSWORD_FILE': additional properties 'existingConfigMap'", inConfigMap('REDIS_PASSWORD_FILE')],
    ['set strimzi.cluster', { ...MINIMAL, topics: 'strimzi' }],
    ['PLANTS_TABLE must not be the topic of the log', kafka({ PLANTS_TABLE: 'plants' })],
    ['api.settings has PLANTS_TOPIC', api({ settings: { PLANTS_TOPIC: 'other' } })],
    ["invalid propertyName 'REDIS_PASSWORD'", kafka({ REDIS_PASSWORD: 'secret' })],
    // Helm would turn it into 7.
    ["'/settings/KAFKA_SASL_USERNAME': got number, want string", 'settings: { KAFKA_SASL_USERNAME: 007 }'],
    // Helm takes a name without a value for none, not for the defaults: there would be no policies.
    ["at '': missing property 'networkPolicy'", { ...MINIMAL, networkPolicy: null }],
    ["at '/networkPolicy': missing property 'enabled'", { ...MINIMAL, networkPolicy: { enabled: null } }],
    ["at '/backup': missing property 'activeDeadlineSeconds'", { ...MINIMAL, backup: { activeDeadlineSeconds: null } }],
  ])('%s', async (message, values) => {
    const { code, stderr } = await template(helm, values)
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })

  it.each(['my.store', '1store', 'p'.repeat(44)])('a release named %s, which a Service cannot be', async (name) => {
    const { stderr } = await template(helm, MINIMAL, '--name-template', name)
    expect(stderr).toContain('the name of the release must begin with a letter')
  })
})

describe.runIf(programs !== undefined)('manifests', () => {
  const PAGE = 'docs/how-to/alerts.md'
  it.each([PAGE, 'https://wiki.example/alerts'])('the rules of deploy/observability link to %s', async (runbookUrl) => {
    const monitoring = { enabled: true, ...(runbookUrl !== PAGE && { runbookUrl }) }
    const manifests = await render(helm, { ...MINIMAL, monitoring })
    const rules = RULES.replaceAll(`runbook_url: ${PAGE}#`, `runbook_url: ${runbookUrl}#`)
    expect(manifestOf(manifests, 'PrometheusRule', RELEASE).spec).toEqual(parse(rules))
  })

  it('an Ingress and an HTTPRoute lead to the HTTP API', async () => {
    const name = `${RELEASE}-api`
    const manifests = await render(helm, {
      ...MINIMAL,
      api: {
        ...{ files: TOKENS, service: { port: 8080 } },
        ingress: { enabled: true, hosts: ['a.example', 'b.example'] },
        httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }] },
      },
    })
    const [port] = manifestOf(manifests, 'Service', name).spec.ports
    const backend = { service: { name, port: { name: port.name } } }
    expect(manifestOf(manifests, 'Ingress', name).spec).toEqual({
      rules: ['a.example', 'b.example'].map((host) => ({
        host,
        http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
      })),
    })
    expect(manifestOf(manifests, 'HTTPRoute', name).spec).toEqual({
      parentRefs: [{ name: 'gateway' }],
      rules: [{ backendRefs: [{ name, port: port.port }] }],
    })
  })

  it('Prometheus finds the operations ports of both services, as the job that the rules expect', async () => {
    const manifests = await render(helm, { ...MINIMAL, monitoring: { enabled: true } })
    const monitor = manifestOf(manifests, 'ServiceMonitor', RELEASE).spec
    const service = manifestOf(manifests, 'Service', `${RELEASE}-operations`)
    expect(service.metadata.labels).toMatchObject(monitor.selector.matchLabels)
    expect(service.metadata.labels[monitor.jobLabel]).toBe('plant-store')
    expect(monitor.endpoints).toEqual([{ port: service.spec.ports[0].name }])
    const selected = manifests.filter(({ spec }) => hasLabels(spec.template?.metadata.labels, service.spec.selector))
    expect(selected.map(({ metadata }) => metadata.name)).toEqual([`${RELEASE}-api`, `${RELEASE}-projector`])
  })

  it('only monitoring reaches the operations ports', async () => {
    const policies = (await render(helm, MINIMAL)).filter(({ kind }) => kind === 'NetworkPolicy')
    expect(policies.map(({ spec }) => spec.ingress)).toEqual([
      undefined,
      [{ ports: [{ port: 'http' }] }],
      [{ ports: [{ port: 'operations' }], from: [{ namespaceSelector: { matchLabels: expect.anything() } }] }],
    ])
    // The first one refuses whatever the others do not allow.
    expect(policies[0]?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
  })

  it.each([false, true, 'rows'])(
    'the users of Strimzi have exactly the documented rights (table: %s)',
    async (table) => {
      const settings = { ...MINIMAL.settings, PLANTS_TOPIC: 'trees', PLANTS_TABLE: table }
      const strimzi = { topics: 'strimzi', strimzi: { cluster: 'main' } }
      const enabled = { plantctl: { enabled: true }, backup: { enabled: true } }
      const manifests = await render(helm, { ...MINIMAL, ...strimzi, ...enabled, settings })
      const topics = manifests.filter(({ kind }) => kind === 'KafkaTopic')
      const tableTopic = table === true ? 'trees.table' : table || undefined
      expect(topics.map(({ spec }) => spec.topicName)).toEqual(['trees', tableTopic].filter(Boolean))
      for (const program of ['api', 'projector', 'plantctl', 'backup'] satisfies Program[]) {
        const { spec } = manifestOf(manifests, 'KafkaUser', `${RELEASE}-${program}`)
        const rights = rightsOf(program, 'trees', tableTopic).map(({ resource, name, pattern, operations }) => ({
          resource: { type: resource, name, patternType: pattern === 'prefixed' ? 'prefix' : pattern },
          operations,
        }))
        expect(spec.authorization.acls).toEqual(rights)
      }
    },
  )

  it('names that YAML reads as something else stay as they are', async () => {
    const settings = { ...MINIMAL.settings, PLANTS_TOPIC: '1e3', PLANTS_TABLE: '0123' }
    const strimzi = { topics: 'strimzi', strimzi: { cluster: 'true' } }
    const manifests = await render(helm, { ...MINIMAL, ...strimzi, settings }, '--name-template', 'null')
    const topics = manifests.filter(({ kind }) => kind === 'KafkaTopic')
    expect(topics.map(({ spec }) => spec.topicName)).toEqual(['1e3', '0123'])
    for (const { metadata } of topics)
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/instance': 'null', 'strimzi.io/cluster': 'true' })
    const { acls } = manifestOf(manifests, 'KafkaUser', 'null-projector').spec.authorization
    for (const name of ['1e3', '0123'])
      expect(acls).toContainEqual(
        expect.objectContaining({ resource: { type: 'topic', name, patternType: 'literal' } }),
      )
  })

  it('each file is where its setting says, and a program has no others', async () => {
    const file = (key: string) => ({ existingSecret: `s-${key}`, key })
    const inConfigMap = (key: string) => ({ existingConfigMap: `c-${key}`, key })
    const manifests = await render(helm, {
      ...MINIMAL,
      files: {
        ...{ KAFKA_SSL_CA_FILE: inConfigMap('ca'), REDIS_PASSWORD_FILE: file('redis') },
        NODE_EXTRA_CA_CERTS: inConfigMap('more'),
      },
      api: { files: { ...TOKENS, KAFKA_SSL_CA_FILE: file('own-ca') } },
    })
    expect(filesOf(manifestOf(manifests, 'Deployment', `${RELEASE}-api`))).toEqual({
      KAFKA_SSL_CA_FILE: 's-own-ca/own-ca',
      NODE_EXTRA_CA_CERTS: 'c-more/more',
      PLANT_STORE_TOKEN_DIGESTS_FILE: 'plant-store-tokens/token-digests',
      REDIS_PASSWORD_FILE: 's-redis/redis',
    })
    expect(filesOf(manifestOf(manifests, 'Job', `${RELEASE}-setup`))).toEqual({
      KAFKA_SSL_CA_FILE: 'c-ca/ca',
      NODE_EXTRA_CA_CERTS: 'c-more/more',
    })
  })

  it('YAML turns on and large numbers into something else, and the chart turns them back', async () => {
    const values = `
settings: { KAFKA_BROKERS: "k:1", REDIS_SENTINELS: "s:1", REDIS_SENTINEL_NAME: s, REDIS_TLS: on,
  OTEL_SDK_DISABLED: true, OTEL_TRACES_SAMPLER_ARG: 0.5 }
api:
  files: ${JSON.stringify(TOKENS)}
  settings: { CONNECTIONS_MAX: 1000000 }`
    const manifests = await render(helm, values)
    const [{ env }] = podOf(manifestOf(manifests, 'Deployment', `${RELEASE}-api`)).containers
    expect(Object.fromEntries(env.map(({ name, value }) => [name, value]))).toMatchObject({
      ...{ CONNECTIONS_MAX: '1000000', DRAIN_MS: '10000', REDIS_TLS: 'on' },
      ...{ OTEL_SDK_DISABLED: 'true', OTEL_TRACES_SAMPLER_ARG: '0.5' },
    })
  })

  it.each([
    [0, 12],
    [10_001, 23],
  ])('DRAIN_MS %i gives an api %i seconds for its end', async (drainMs, seconds) => {
    const manifests = await render(helm, { ...MINIMAL, api: { files: TOKENS, settings: { DRAIN_MS: drainMs } } })
    expect(podOf(manifestOf(manifests, 'Deployment', `${RELEASE}-api`)).terminationGracePeriodSeconds).toBe(seconds)
  })

  it('an autoscaler, of the chart or another one, decides the number of processes alone', async () => {
    const name = `${RELEASE}-api`
    const scaled = await render(helm, { ...MINIMAL, api: { files: TOKENS, autoscaling: { enabled: true } } })
    expect(manifestOf(scaled, 'HorizontalPodAutoscaler', name).spec).toMatchObject({ minReplicas: 2, maxReplicas: 8 })
    expect(manifestOf(scaled, 'Deployment', name).spec).not.toHaveProperty('replicas')
    const none = { replicas: null }
    const others = await render(helm, { ...MINIMAL, api: { ...MINIMAL.api, ...none }, projector: none })
    for (const { kind, spec } of others) if (kind === 'Deployment') expect(spec).not.toHaveProperty('replicas')
  })

  it('plantctl runs its arguments, one run at a time, and a run that cannot start ends', async () => {
    const values = { ...MINIMAL, plantctl: { enabled: true, args: ['verify', '--table'], timeZone: 'Europe/Berlin' } }
    const { spec } = manifestOf(await render(helm, values), 'CronJob', `${RELEASE}-plantctl`)
    expect(spec).toMatchObject({ suspend: true, timeZone: 'Europe/Berlin', concurrencyPolicy: 'Forbid' })
    expect(spec.jobTemplate.spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 21_600 })
    expect(podOf(spec.jobTemplate).containers[0].args).toEqual(['plantctl', 'verify', '--table'])
  })

  it('a backup runs one at a time, with the settings of Kafka alone, to a volume that outlives the release', async () => {
    const name = `${RELEASE}-backup`
    const values = (more: object) => ({
      settings: { ...MINIMAL.settings, PLANTS_TOPIC: 'trees' },
      files: { REDIS_PASSWORD_FILE: { existingSecret: 'redis', key: 'password' } },
      ...{ api: MINIMAL.api, backup: { enabled: true, ...more } },
    })
    const claimed = (claimName: string) => [{ name: 'backup', persistentVolumeClaim: { claimName } }]
    const more = { activeDeadlineSeconds: 1_000_000, size: '1Ti', storageClass: 'fast' }
    const manifests = await render(helm, values(more))
    const { spec } = manifestOf(manifests, 'CronJob', name)
    expect(spec).toMatchObject({ schedule: '*/10 * * * *', suspend: false, concurrencyPolicy: 'Forbid' })
    expect(spec).not.toHaveProperty('timeZone')
    expect(spec.jobTemplate.spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 1_000_000 })
    const { containers, volumes } = podOf(spec.jobTemplate)
    expect(containers[0]).toMatchObject({
      args: ['plantctl', 'backup', '--to', '/backup/trees', '--json'],
      volumeMounts: [{ name: 'backup', mountPath: '/backup' }],
    })
    expect(containers[0].env).toEqual([
      { name: 'KAFKA_BROKERS', value: 'kafka:9092' },
      { name: 'PLANTS_TOPIC', value: 'trees' },
    ])
    expect(volumes).toEqual(claimed(name))
    expect(manifestOf(manifests, 'PersistentVolumeClaim', name)).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
      spec: { resources: { requests: { storage: '1Ti' } }, storageClassName: 'fast' },
    })
    const existing = await render(helm, values({ existingClaim: 'nas' }))
    expect(existing.filter(({ kind }) => kind === 'PersistentVolumeClaim')).toEqual([])
    expect(podOf(manifestOf(existing, 'CronJob', name).spec.jobTemplate).volumes).toEqual(claimed('nas'))
  })
})

/** The files that `helm template` writes of these values. */
async function filesOfTemplate(values: object | string): Promise<string[]> {
  const { stdout } = await template(helm, values, '--output-dir', temporaryFolder())
  return [...stdout.matchAll(/^wrote (\S+)$/gm)].map(([, file]) => file as string)
}

const hasLabels = (labels: Record<string, string> | undefined, selector: Record<string, string>) =>
  labels !== undefined && Object.entries(selector).every(([name, value]) => labels[name] === value)

const podOf = ({ spec }: Manifest): PodSpec => spec.template.spec

/** The setting of each file, and the Secret or ConfigMap and its key that are mounted there. */
function filesOf(manifest: Manifest): Record<string, string> {
  const { containers, volumes = [] } = podOf(manifest)
  const mounted = volumes.flatMap(({ projected }) =>
    projected.sources.flatMap((source) =>
      Object.values(source).flatMap(({ name, items }) =>
        items.map(({ key, path }): [string, string] => [`/run/plant-store/${path}`, `${name}/${key}`]),
      ),
    ),
  )
  const settings = containers[0].env.filter(({ value }) => value?.startsWith('/run/plant-store/'))
  expect(mounted).toHaveLength(settings.length)
  return Object.fromEntries(settings.map(({ name, value = '' }) => [name, new Map(mounted).get(value) ?? 'nothing']))
}
