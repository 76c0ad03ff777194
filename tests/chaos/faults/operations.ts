import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { isReady } from '../../support/is-ready.ts'
import { type Cluster, TOPIC } from '../cluster.ts'
import { UNTIL_RECOVERED } from '../liveness.ts'
import { type Draw, every, type Fault } from './fault.ts'

const DELETED_WITHIN_MS = 30_000

/** Actions of operators while the cluster works: no faults, but they must not break anything either. */
export const OPERATIONS: readonly Draw[] = [
  // Figures without a fault, to compare with.
  () => ({ kind: 'none', targets: ['none'], inject: async () => undefined }),
  (cluster) => plantctl(cluster, 'rebuild'),
  (cluster) => plantctl(cluster, 'verify'),
  restored,
  ({ services, hasTwoReleases }) =>
    hasTwoReleases
      ? changed('services: change to the other release', services)
      : rolling('services: rolling restart', services),
]

/** With two releases: each leaves apis of one release alongside projectors of the other, or ends that. */
export const UPGRADES: readonly Draw[] = [
  ({ apis }) => changed(`apis: change to ${otherThan(apis)}`, apis),
  ({ projectors }) => changed(`projectors: change to ${otherThan(projectors)}`, projectors),
]

type Service = Cluster['services'][number]

const otherThan = ([first]: readonly Service[]) => (first?.isFormer() ? 'this release' : 'the former release')

const changed = (kind: string, services: readonly Service[]): Fault =>
  rolling(kind, services, (service) => service.changeRelease())

/** Restarts them one after the other. */
function rolling(kind: string, services: readonly Service[], before?: (service: Service) => void): Fault {
  return {
    ...{ kind, targets: services.map(({ name }) => name) },
    effects: [{ apis: services.map(({ name }) => name), forMs: UNTIL_RECOVERED }],
    async inject() {
      for (const service of services) {
        before?.(service)
        await service.restart('SIGTERM')
        await untilReady(service)
      }
    },
  }
}

/** During another fault, the service may not get ready before that fault is removed. */
const READY_WITHIN_MS = 15_000

async function untilReady({ opsUrl }: { opsUrl: string }): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS
  while (!(await isReady(opsUrl)) && performance.now() < until) await delay(200)
}

/** Everything that was acknowledged is there again, at its offsets: read model, table and consumers continue. */
function restored(cluster: Cluster): Fault {
  const { services, consumers, brokers, redisServers, links, admin, logDir } = cluster
  const programs = [...services, ...consumers]
  const backup = join(logDir, '..', 'backup')
  return {
    kind: 'topic: deleted and restored',
    targets: [...programs, ...brokers, ...redisServers, ...links].map(({ name }) => name),
    effects: [{ forMs: UNTIL_RECOVERED }],
    async inject() {
      await every(programs, (program) => program.end('SIGTERM'))
      await succeed(cluster, 'backup', '--to', backup)
      await withAdmin(admin, (connected) => connected.deleteTopics({ topics: [TOPIC.topic] }))
      const isDeleted = async () => {
        if ((await readConfiguration(admin, TOPIC.topic)) !== undefined) throw new Error('the topic is still there')
      }
      await retry(isDeleted, { everyMs: 200, giveUpAfterMs: DELETED_WITHIN_MS })
      await succeed(cluster, 'restore', '--from', backup)
    },
    heal: () => every(programs, (program) => program.start()),
  }
}

async function succeed(cluster: Cluster, ...args: string[]): Promise<void> {
  const { code, stderr } = await cluster.plantctl(...args)
  if (code !== 0) throw new Error(`plantctl ${args.join(' ')} ends with ${code}: ${stderr}`)
}

/**
 * During another fault, a command may fail; it must then print a reason. A Redis that loses plants meanwhile differs
 * from the log.
 */
function plantctl(cluster: Cluster, ...args: string[]): Fault {
  return {
    ...{ kind: `plantctl ${args[0]}`, targets: [`plantctl ${args[0]}`] },
    async inject({ isAlone }) {
      const { code, stderr } = await cluster.plantctl(...args)
      const hasFailedWithReason = (code === 1 || code === 3) && stderr !== '' && !isAlone
      if (code !== 0 && !hasFailedWithReason) throw new Error(`plantctl ${args.join(' ')} ends with ${code}: ${stderr}`)
    },
  }
}
