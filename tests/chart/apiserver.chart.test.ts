import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { root } from '../../local/places.mjs'
import { CHART, findChartPrograms, manifestsIn, type Output, RELEASE, run, template, valuesFile } from './helm.ts'
import { findKubernetes, httpRouteDefinition, startKubernetes } from './kube-apiserver.ts'
import { EVERYTHING, MINIMAL, VALUES } from './values.ts'

const [programs, kubernetes] = [await findChartPrograms(), await findKubernetes()]
const NAMESPACE = 'plants'
const KNOWN_WITHIN = { timeout: 60_000, interval: 200 }
const LEVELS = ['enforce', 'warn', 'audit']

/**
 * The operators' kinds by name alone: manifests.chart.test.ts compares the contents of such objects with the expected
 * ones.
 */
const KINDS = [
  ['monitoring.coreos.com', 'ServiceMonitor'],
  ['monitoring.coreos.com', 'PrometheusRule'],
  ['kafka.strimzi.io', 'KafkaTopic'],
  ['kafka.strimzi.io', 'KafkaUser'],
].map(([group, kind = '']) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.toLowerCase()}s.${group}` },
  spec: {
    ...{ group, scope: 'Namespaced' },
    names: { kind, plural: `${kind.toLowerCase()}s` },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}))

describe.runIf(programs !== undefined && kubernetes !== undefined)('a kube-apiserver', () => {
  const helm = programs?.helm ?? ''
  let server: Awaited<ReturnType<typeof startKubernetes>>

  beforeAll(async () => {
    server = await startKubernetes(kubernetes as NonNullable<typeof kubernetes>)
    const labels = Object.fromEntries(LEVELS.map((level) => [`pod-security.kubernetes.io/${level}`, 'restricted']))
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: NAMESPACE } }
    const { code, stderr } = await server.apply([namespace, account, ...KINDS])
    expect(code, stderr).toBe(0)
    const created = await server.kubectl('create', '--filename', await httpRouteDefinition())
    expect(created.code, created.stderr).toBe(0)
    // kubectl does not wait for a kind that has no conditions yet.
    await vi.waitFor(async () => {
      const known = await server.kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all')
      expect(known.code, known.stderr).toBe(0)
    }, KNOWN_WITHIN)
  })
  afterAll(() => server.stop())

  const dryRun = (manifests: readonly object[]) => server.apply(manifests, '--namespace', NAMESPACE, '--dry-run=server')

  it.each(VALUES)('accepts manifests and pods in a restricted namespace without a warning: %s', async (_, values) => {
    const manifests = manifestsIn((await template(helm, values)).stdout)
    const pods = manifests.flatMap(({ metadata, spec }) => {
      const found = spec.template ?? spec.jobTemplate?.spec.template
      if (found === undefined) return []
      return [{ apiVersion: 'v1', kind: 'Pod', ...found, metadata: { ...found.metadata, name: metadata.name } }]
    })
    expect([manifests.length > 8, pods.length > 1]).toEqual([true, true])
    const { code, stdout, stderr } = await dryRun([...manifests, ...pods])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.match(/\(server dry run\)$/gm)).toHaveLength(manifests.length + pods.length)
  })

  it('accepts the stores for kind without a warning', async () => {
    const file = join(root, 'deploy/helm/kind-stores.yaml')
    const { code, stderr } = await server.kubectl('apply', '-n', NAMESPACE, '--dry-run=server', '--filename', file)
    expect([code, stderr]).toEqual([0, ''])
  })

  // No kubelet runs the Job of the hook here.
  const helmRun = (...args: string[]) => run(helm, ...args, '--no-hooks', '-n', NAMESPACE, ...server.helmOptions)
  const apply = (verb: 'install' | 'upgrade', release: string, values: object) =>
    helmRun(verb, release, CHART, '-f', valuesFile(values))

  it('Helm installs the least, upgrades it to everything, and then refuses another number of partitions', async () => {
    const installed = await apply('install', RELEASE, MINIMAL)
    expect(installed.stdout).toContain(`kubectl -n ${NAMESPACE} exec deploy/${RELEASE}-projector -- plantctl status`)
    const upgraded = await apply('upgrade', RELEASE, EVERYTHING)
    for (const { code, stderr } of [installed, upgraded]) {
      expect(code, stderr).toBe(0)
      expect(stderr.split('\n').filter((line) => line !== '' && !line.includes('found symbolic link'))).toEqual([])
    }
    const { code, stderr } = await apply('upgrade', RELEASE, {
      ...EVERYTHING,
      settings: { ...EVERYTHING.settings, PLANTS_PARTITIONS: 48 },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('PLANTS_PARTITIONS is 48, but the topic plants has 24.')
  })

  // Without a controller here, the test is the autoscaler.
  it('the number of apis stays as it is when an autoscaler begins to decide, at upgrades and at a rollback', async () => {
    const apis = (more: object) => ({ ...MINIMAL, api: { ...MINIMAL.api, ...more } })
    const autoscaled = apis({ autoscaling: { enabled: true } })
    const scale = (release: string) => server.kubectl('scale', '-n', NAMESPACE, `deploy/${release}-api`, '--replicas=5')
    const expectAfter = async (change: Promise<Output>, release: string, replicas: number) => {
      const { code, stderr } = await change
      expect(code, stderr).toBe(0)
      const api = ['-n', NAMESPACE, `deploy/${release}-api`]
      const { stdout } = await server.kubectl('get', ...api, '-o', 'jsonpath={.spec.replicas}')
      expect(Number(stdout)).toBe(replicas)
    }
    await expectAfter(apply('install', 'fixed', apis({ replicas: 8 })), 'fixed', 8)
    await expectAfter(apply('upgrade', 'fixed', autoscaled), 'fixed', 8)
    await expectAfter(scale('fixed'), 'fixed', 5)
    await expectAfter(apply('upgrade', 'fixed', autoscaled), 'fixed', 5)

    await expectAfter(apply('install', 'scaled', autoscaled), 'scaled', 1)
    await expectAfter(scale('scaled'), 'scaled', 5)
    await expectAfter(apply('upgrade', 'scaled', autoscaled), 'scaled', 5)
    await expectAfter(helmRun('rollback', 'scaled', '1'), 'scaled', 5)
  })
})
