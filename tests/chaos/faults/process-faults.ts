import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random } from '../../simulation/random.ts'
import type { Cluster } from '../cluster.ts'
import type { Member } from '../member.ts'
import { type Draw, killed } from './fault.ts'

const STORM_RESTARTS = 3
const STORM_EVERY_MS = 1_500
const HOUR_MS = 3_600_000

function groupOf(cluster: Cluster, random: Random): readonly [name: string, members: readonly Member[]] {
  const { brokers, redisServers, sentinels, apis, projectors, consumers } = cluster
  const groups = [
    ['broker', brokers],
    ['redis', redisServers],
    ['sentinel', sentinels],
    ['api', apis],
    ['projector', projectors],
    ['consumer', consumers],
  ] as const
  return pick(
    groups.filter(([, members]) => members.length > 0),
    random,
  )
}

export const PROCESS_FAULTS: readonly Draw[] = [
  (cluster, random) => {
    const [group, members] = groupOf(cluster, random)
    return killed(`${group}: kill -9`, [pick(members, random)])
  },
  (cluster, random) => {
    const [group, members] = groupOf(cluster, random)
    const member = pick(members, random)
    return {
      ...{ kind: `${group}: paused`, targets: [member.name] },
      inject: async () => member.pause(),
      heal: async () => member.resume(),
    }
  },
  (cluster, random) => {
    const [group, members] = groupOf(cluster, random)
    const member = pick(members, random)
    return {
      ...{ kind: `${group}: SIGTERM and start`, targets: [member.name] },
      inject: () => member.restart('SIGTERM'),
    }
  },
  ({ services }, random) => {
    const service = pick(services, random)
    const hours = pick([-1, 1], random)
    return {
      ...{ kind: 'clock off by an hour', targets: [service.name] },
      inject: async () => service.setClockOff(hours * HOUR_MS),
      heal: async () => service.setClockOff(0),
    }
  },
  (cluster, random) => {
    const member = pick([...cluster.projectors, ...cluster.consumers], random)
    return {
      ...{ kind: 'rebalance storm', targets: [member.name] },
      async inject() {
        for (let restart = 0; restart < STORM_RESTARTS; restart++) {
          await member.restart(restart % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
          await delay(STORM_EVERY_MS)
        }
      },
    }
  },
]
