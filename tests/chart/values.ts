import { README } from './helm.ts'

/** A file of values that the README shows, by its name there. */
function shown(name: string): string {
  const [, text] = README.match(new RegExp(`\`\`\`yaml\\n(# ${name}\\.yaml\\n[\\s\\S]*?)\`\`\``)) ?? []
  if (text === undefined) throw new Error(`The README of the chart does not show ${name}.yaml`)
  return text
}

export const TOKENS = { PLANT_STORE_TOKEN_DIGESTS_FILE: { existingSecret: 'plant-store-tokens', key: 'token-digests' } }
const REDIS = { existingSecret: 'redis' }

/** The least that the chart accepts. */
export const MINIMAL = {
  settings: { KAFKA_BROKERS: 'kafka:9092', REDIS_URL: 'redis://redis:6379' },
  api: { files: TOKENS },
}

/** Every feature at once, as far as they go together. */
export const EVERYTHING = {
  image: { repository: 'registry.example/plant-store', digest: `sha256:${'0'.repeat(64)}` },
  settings: {
    ...{ KAFKA_BROKERS: 'main-kafka-bootstrap:9093', PLANTS_TABLE: true, PLANTS_PARTITIONS: 24 },
    ...{
      REDIS_SENTINELS: 's1:26379,s2:26379',
      REDIS_SENTINEL_NAME: 'plants',
      REDIS_TLS: true,
      REDIS_USERNAME: 'plants',
    },
    ...{
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_TRACES_SAMPLER_ARG: 0.01,
      OTEL_SDK_DISABLED: false,
    },
  },
  files: {
    ...{ REDIS_PASSWORD_FILE: { ...REDIS, key: 'password' }, REDIS_CA_FILE: { ...REDIS, key: 'ca.crt' } },
    ...{ REDIS_CERT_FILE: { ...REDIS, key: 'tls.crt' }, REDIS_KEY_FILE: { ...REDIS, key: 'tls.key' } },
    REDIS_SENTINEL_PASSWORD_FILE: { ...REDIS, key: 'sentinel-password' },
    NODE_EXTRA_CA_CERTS: { existingConfigMap: 'authorities', key: 'ca.crt' },
  },
  extraEnv: [{ name: 'KAFKA_CLIENT_RACK', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
  pod: {
    priorityClassName: 'system-cluster-critical',
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'plants' }],
  },
  api: {
    settings: {
      ...{ JWT_ISSUER: 'i', JWT_AUDIENCE: 'a', JWT_JWKS_URL: 'https://i/keys', RATE_LIMIT_PER_MINUTE: 1_000_000 },
      ...{ TRUST_PROXY: '10.0.0.0/8', CORS_ORIGINS: 'https://shop.example' },
    },
    files: {
      ...TOKENS,
      ...{ HTTP_TLS_CERT_FILE: { existingSecret: 'plant-store-tls', key: 'tls.crt' } },
      ...{ HTTP_TLS_KEY_FILE: { existingSecret: 'plant-store-tls', key: 'tls.key' } },
    },
    autoscaling: { enabled: true, maxReplicas: 10 },
    service: { type: 'LoadBalancer', annotations: { 'balancer.example/scheme': 'internal' } },
    ingress: {
      ...{
        enabled: true,
        className: 'nginx',
        annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' },
      },
      ...{ hosts: ['plants.example'], tls: [{ hosts: ['plants.example'], secretName: 'plants-tls' }] },
    },
    httpRoute: {
      ...{ enabled: true, annotations: { 'gateway.example/tier': 'public' }, hostnames: ['plants.example'] },
      parentRefs: [{ name: 'gateway', namespace: 'gateways', sectionName: 'https' }],
    },
  },
  topics: 'strimzi',
  strimzi: { cluster: 'main' },
  plantctl: { enabled: true, suspend: false, timeZone: 'Europe/Berlin' },
  backup: { enabled: true, timeZone: 'Etc/UTC', size: '1Ti', storageClass: 'fast' },
  monitoring: { enabled: true, labels: { release: 'prometheus' }, runbookUrl: 'https://wiki.example/alerts' },
  networkPolicy: {
    clients: [{ podSelector: { matchLabels: { shop: 'true' } } }],
    egress: [{ ports: [{ port: 9093 }, { port: 26379 }, { port: 53, protocol: 'UDP' }] }],
  },
}

/** Values whose manifests are checked by each tool. */
export const VALUES: [name: string, values: object | string][] = [
  ['the least', MINIMAL],
  ['everything', EVERYTHING],
  ...['kind', 'production', 'strimzi'].map((name): [string, string] => [`${name}.yaml of the README`, shown(name)]),
]
