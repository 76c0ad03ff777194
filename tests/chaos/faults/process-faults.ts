import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random } from '../../simulation/random.ts'
import { CONTINUES_WITHIN_MS, type Effect, UNTIL_RECOVERED } from '../liveness.ts'
import type { Member } from '../member.ts'
import { type Draw, killed, type Scene } from './fault.ts'

const STORM_RESTARTS = 3
const STORM_EVERY_MS = 1_500
const HOUR_MS = 3_600_000
const PROJECTORS_DEAD_MS = 60_000

/** A member of a group, and its effects when it is away. */
function drawMember(scene: Scene, random: Random) {
  const { brokers, leaders, redisServers, sentinels, apis, projectors, consumers } = scene
  const broker = ({ name }: Member): Effect[] => [{ of: 'create', servers: [name], forMs: CONTINUES_WITHIN_MS }]
  const none = (): Effect[] => []
  const groups = [
    ['broker', brokers, broker],
    ['leader', [pick(leaders, random)], broker],
    ['redis', redisServers, ({ name }: Member): Effect[] => [{ servers: [name], forMs: CONTINUES_WITHIN_MS }]],
    ['sentinel', sentinels, none],
    ['api', apis, ({ name }: Member): Effect[] => [{ apis: [name], forMs: UNTIL_RECOVERED }]],
    ['projector', projectors, none],
    ['consumer', consumers, none],
  ] as const
  const [group, members, effectsOf] = pick(
    groups.filter(([, members]) => members.length > 0),
    random,
  )
  const member = pick<Member>(members, random)
  const targets = [member.name, ...(group === 'projector' ? tailLinks(scene) : [])]
  return { group, member, targets, effects: effectsOf(member) }
}

/** Without the read model, an api needs its tail, and so each broker: the coordinator of its group is one of them. */
const tailLinks = ({ links }: Scene) => links.map(({ name }) => name).filter((name) => /^api-\d>kafka-/.test(name))

export const PROCESS_FAULTS: readonly Draw[] = [
  (scene, random) => {
    const { group, member, ...others } = drawMember(scene, random)
    return { kind: `${group}: kill -9`, ...killed([member]), ...others }
  },
  (scene, random) => {
    const { group, member, ...others } = drawMember(scene, random)
    return {
      ...{ kind: `${group}: paused`, ...others },
      inject: async () => member.signal('SIGSTOP'),
      heal: async () => member.signal('SIGCONT'),
    }
  },
  (scene, random) => {
    const { group, member, targets, effects } = drawMember(scene, random)
    return {
      ...{ kind: `${group}: SIGTERM and start`, targets },
      // A Redis that is back before the sentinels miss it has lost its data.
      effects: group === 'redis' ? [{ forMs: UNTIL_RECOVERED }] : effects,
      inject: () => member.restart('SIGTERM'),
    }
  },
  (scene) => {
    const killing = killed(scene.projectors)
    const targets = [...killing.targets, ...tailLinks(scene)]
    return { kind: 'projectors: dead for a minute', ...killing, targets, holdMs: PROJECTORS_DEAD_MS }
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
