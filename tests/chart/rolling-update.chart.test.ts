import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { expect, inject, it } from 'vitest'
import { startCreates } from '../support/endless-creates.ts'
import { TOKEN } from '../support/plant-store.ts'
import { quietLog } from '../support/quiet-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectResponsesToBeTrue, readTruth } from '../support/truth.ts'
import { startBalancer } from './balancer.ts'
import { findChartPrograms, type Manifest, manifestOf, type PodSpec, RELEASE, render } from './helm.ts'
import { type Pod, startPod } from './kubelet.ts'
import { TOKENS } from './values.ts'

const programs = await findChartPrograms()
const PARTITIONS = 6
/** The time from when the slowest balancer learns that a pod ends until the end of the drain. */
const MARGIN_MS = 1_000
const CREATES_BETWEEN = 500

it.runIf(programs !== undefined)('a rolling update of both services under load fails no create', async () => {
  const [folder, topic] = [temporaryFolder(), `plants-${randomUUID()}`]
  const log = { topic, partitions: PARTITIONS, kafka: createKafka([inject('kafkaBrokers')], 'test', quietLog) }
  const secrets = { 'plant-store-tokens': { 'token-digests': `tests:${digestOf(TOKEN).toString('hex')}\n` } }
  const settings = { KAFKA_BROKERS: inject('kafkaBrokers'), REDIS_URL: inject('redisUrl') }
  const start = (name: string, spec: PodSpec) => startPod(name, spec, secrets, folder)

  const manifests = await render(programs?.helm ?? '', {
    settings: { ...settings, PLANTS_TOPIC: topic, PLANTS_PARTITIONS: PARTITIONS },
    api: { files: TOKENS },
  })
  const setup = manifestOf(manifests, 'Job', `${RELEASE}-setup`).spec.template.spec
  const job = await start('setup', setup)
  expect(await job.running.exited).toEqual({ code: 0, signal: null })
  const balancer = await startBalancer()
  const [apis, projectors] = await Promise.all([
    deploy(manifestOf(manifests, 'Deployment', `${RELEASE}-api`), start, balancer),
    deploy(manifestOf(manifests, 'Deployment', `${RELEASE}-projector`), start),
  ])

  const creates = startCreates(balancer.url)
  await creates.untilMore(CREATES_BETWEEN)
  await Promise.all([apis.roll(), projectors.roll()])
  await creates.untilMore(CREATES_BETWEEN)
  const all = await creates.stop()

  expect(all.filter(({ response }) => response?.status !== 200)).toEqual([])
  expectResponsesToBeTrue(all, await readTruth(log))
})

/** Its pods as processes, ready and behind the balancer. */
async function deploy(
  { metadata, spec }: Manifest,
  start: (name: string, spec: PodSpec) => Promise<Pod>,
  balancer?: Awaited<ReturnType<typeof startBalancer>>,
) {
  const pod: PodSpec = spec.template.spec
  const drainMs = Number(pod.containers[0].env.find(({ name }) => name === 'DRAIN_MS')?.value ?? 0)
  let started = 0

  async function startOne(): Promise<Pod> {
    const one = await start(`${metadata.name}-${started++}`, pod)
    await one.untilReady()
    balancer?.add(one.port)
    return one
  }

  /** Kubernetes signals a pod and takes its endpoint away at the same time, but the nodes hear of that later. */
  async function endOne(one: Pod): Promise<void> {
    const ended = one.end()
    await delay(Math.max(0, drainMs - MARGIN_MS))
    balancer?.remove(one.port)
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(one.livenessFailures()).toBe(0)
  }

  const replicas: number = spec.replicas
  const pods = await Promise.all(Array.from({ length: replicas }, startOne))
  return {
    /** Replaces one pod after the other, as the strategy says. */
    async roll(): Promise<void> {
      expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
      const ends: Promise<void>[] = []
      for (const old of pods) {
        await startOne()
        ends.push(endOne(old))
      }
      await Promise.all(ends)
    },
  }
}
