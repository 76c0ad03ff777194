import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { freePort } from '../../local/processes/port.ts'
import { startProcess, untilReady } from '../../local/processes/process.ts'
import { builtOnce } from '../../local/toolchain/built-once.ts'
import { findGo, goEnvironment } from '../../local/toolchain/go.ts'
import { findPrograms } from '../support/debian-package.ts'
import { unlessMissing } from '../support/unless-missing.ts'
import { type Output, run } from './helm.ts'

/** The version of Kubernetes; its libraries have a 0 instead of the 1. */
const VERSION = '1.34.4'
/** Without it the programs do not know their version, and Helm asks for it. */
const NAMED = `-X k8s.io/component-base/version.gitVersion=v${VERSION}`
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.4.1'
const BUILD = { timeoutMs: 1_800_000 }
const TOKEN = 'the-token-of-the-tests'
const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 5_000

type Programs = Record<'etcd' | 'apiserver' | 'kubectl', string>

/** Builds kube-apiserver and kubectl, once, in some minutes. Undefined, with a warning, where they cannot be had. */
export const findKubernetes = () =>
  unlessMissing('A kube-apiserver was', async (): Promise<Programs> => {
    const go = await findGo()
    const programs = await findPrograms('etcd-server', { etcd: 'usr/bin/etcd' })
    const folder = await builtOnce(`kubernetes-${VERSION}`, [], BUILD, async (dir, run) => {
      const place = { cwd: dir, env: goEnvironment() }
      const downloaded = await run(go, ['mod', 'download', '-json', `k8s.io/kubernetes@v${VERSION}`], place)
      const { GoMod } = JSON.parse(downloaded.slice(downloaded.indexOf('{'))) as { GoMod: string }
      writeFileSync(join(dir, 'go.mod'), moduleFile(readFileSync(GoMod, 'utf8')))
      for (const name of ['kube-apiserver', 'kubectl']) {
        const args = ['-mod=mod', `-ldflags=-s -w ${NAMED}`, '-o', dir, `k8s.io/kubernetes/cmd/${name}`]
        await run(go, ['build', ...args], place)
      }
    })
    return { ...programs, apiserver: join(folder, 'kube-apiserver'), kubectl: join(folder, 'kubectl') }
  })

/** The file with the definition of HTTPRoutes that the project Gateway API publishes. */
export async function httpRouteDefinition(): Promise<string> {
  const { code, stdout, stderr } = await run(await findGo(), 'mod', 'download', '-json', GATEWAY_API)
  if (code !== 0) throw new Error(stdout + stderr)
  return join(JSON.parse(stdout).Dir, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml')
}

/** Kubernetes refers to its libraries by folders next to its own, which a downloaded module does not have. */
function moduleFile(itsOwn: string): string {
  const libraries = [...itsOwn.matchAll(/^\s*(k8s\.io\/[a-z-]+) => \.\/staging/gm)].map(([, name]) => name)
  const replaced = libraries.map((name) => `replace ${name} => ${name} v0.${VERSION.slice(2)}`)
  const [goVersion = ''] = itsOwn.match(/^go .*$/m) ?? []
  return `module kubernetes\n${goVersion}\nrequire k8s.io/kubernetes v${VERSION}\n${replaced.join('\n')}\n`
}

/** Starts an etcd and a kube-apiserver; the caller has to end it. */
export async function startKubernetes({ etcd, apiserver, kubectl: kubectlProgram }: Programs) {
  const folder = mkdtempSync(join(inject('testRun'), 'kubernetes-'))
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const [clients, peers] = [`http://127.0.0.1:${clientPort}`, `http://127.0.0.1:${peerPort}`]
  const store = await start('etcd', etcd, {
    ...{ 'data-dir': join(folder, 'etcd'), 'listen-client-urls': clients, 'advertise-client-urls': clients },
    ...{ 'listen-peer-urls': peers, 'initial-advertise-peer-urls': peers, 'initial-cluster': `default=${peers}` },
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const [keyFile, tokenFile, certificates] = ['key', 'tokens', 'certificates'].map((name) => join(folder, name))
  writeFileSync(keyFile as string, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(tokenFile as string, `${TOKEN},tests,1,system:masters\n`)
  const server = await start('kube-apiserver', apiserver, {
    ...{ 'etcd-servers': clients, 'bind-address': '127.0.0.1', 'secure-port': String(port), 'cert-dir': certificates },
    ...{ 'token-auth-file': tokenFile, 'authorization-mode': 'AlwaysAllow', 'service-cluster-ip-range': '10.0.0.0/24' },
    ...{ 'service-account-issuer': 'https://kubernetes', 'service-account-key-file': keyFile },
    'service-account-signing-key-file': keyFile,
  })
  const [url, authority] = [`https://127.0.0.1:${port}`, join(certificates as string, 'apiserver.crt')]

  function start(name: string, command: string, flags: Record<string, string | undefined>) {
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
    return startProcess({ name, command, args, logFile: join(folder, `${name}.log`) })
  }

  function kubectl(...args: string[]): Promise<Output> {
    const access = ['--server', url, '--token', TOKEN, '--certificate-authority', authority]
    return run(kubectlProgram, ...access, '--cache-dir', join(folder, 'cache'), ...args)
  }
  const isReady = async () => existsSync(authority) && (await kubectl('get', '--raw', '/readyz')).code === 0
  await untilReady(server, { isReady, startTimeoutMs: START_TIMEOUT_MS })

  return {
    kubectl,

    /** `kubectl apply`. */
    apply(manifests: readonly object[], ...args: string[]): Promise<Output> {
      const file = join(folder, 'manifests.json')
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }))
      return kubectl('apply', '--filename', file, ...args)
    },

    /** By which Helm finds it. */
    helmOptions: ['--kube-apiserver', url, '--kube-token', TOKEN, '--kube-ca-file', authority],

    async stop(): Promise<void> {
      for (const running of [server, store]) await running.stop({ graceMs: STOP_GRACE_MS })
    },
  }
}
