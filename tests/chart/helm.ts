import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { root } from '../../local/places.mjs'
import { ensureBuilt } from '../../local/toolchain/go.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unlessMissing } from '../support/unless-missing.ts'

const HELM = { source: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0', program: 'helm' }
const KUBE_SCORE = { source: 'github.com/zegl/kube-score/cmd/kube-score', version: 'v1.20.0', program: 'kube-score' }
/** A Helm that Go has built does not know which Kubernetes it was made for. */
const KUBERNETES = '1.34.0'
export const CHART = join(root, 'deploy/helm/plant-store')
export const RELEASE = 'plant-store'
export const README = readFileSync(join(CHART, 'README.md'), 'utf8')

export type Probe = {
  httpGet: { path: string }
  periodSeconds: number
  timeoutSeconds?: number
  failureThreshold: number
}
type Container = Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe> & {
  args?: string[]
  env: { name: string; value?: string }[]
}
export type PodSpec = {
  terminationGracePeriodSeconds: number
  containers: [Container]
  volumes?: { projected: { sources: { secret: { name: string; items: { key: string; path: string }[] } }[] } }[]
}
// biome-ignore lint/suspicious/noExplicitAny: each kind has different fields; a test that errs about them fails
export type Manifest = { kind: string; metadata: { name: string; labels: Record<string, string> }; spec: any }

/** Helm and kube-score; undefined, with a warning, where they cannot be had. */
export const findChartPrograms = () =>
  unlessMissing('The chart was', async () => ({
    helm: await ensureBuilt(HELM),
    kubeScore: await ensureBuilt(KUBE_SCORE),
  }))

export type Output = { code: number; stdout: string; stderr: string }

/** Runs a program to its end, with both outputs apart. */
export async function run(command: string, ...args: string[]): Promise<Output> {
  try {
    return { code: 0, ...(await promisify(execFile)(command, args, { maxBuffer: 1e8 })) }
  } catch (error) {
    return error as Output
  }
}

/** The output of `helm template` for these values; `--name-template` in `more` names another release. */
export function template(helm: string, values: object | string, ...more: string[]): Promise<Output> {
  const args = ['--kube-version', KUBERNETES, '--namespace', 'plants', '--values', valuesFile(values), ...more]
  return run(helm, 'template', CHART, '--name-template', RELEASE, ...args)
}

/** The manifests of these values, hooks included. */
export async function render(helm: string, values: object | string, ...more: string[]): Promise<Manifest[]> {
  const { code, stdout, stderr } = await template(helm, values, ...more)
  if (code !== 0) throw new Error(stderr)
  return manifestsIn(stdout)
}

export const manifestsIn = (text: string) =>
  parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS() as Manifest]))

/** The one manifest of this kind and name. */
export function manifestOf(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name)
  if (found.length !== 1) throw new Error(`${found.length} manifests are ${kind} ${name}`)
  return found[0] as Manifest
}

export function valuesFile(values: object | string): string {
  const file = join(temporaryFolder(), 'values.yaml')
  // JSON is YAML, too.
  writeFileSync(file, typeof values === 'string' ? values : JSON.stringify(values))
  return file
}
