import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { runCommand } from '../../local/processes/command.mjs'
import type { Random } from '../simulation/random.ts'
import type { Cluster } from './cluster.ts'
import type { Member } from './member.ts'
import type { Direction, Link } from './toxiproxy.ts'

/** A fault at its targets, which no other fault may have at the same time. */
export type Fault = {
  kind: string
  targets: readonly string[]
  inject(): Promise<void>
  /** Removes what was injected. What heals by itself has none. */
  heal?(): Promise<void>
}

const STORM_RESTARTS = 3
const STORM_EVERY_MS = 1_500
/** How long replicas lag before their master dies: so long are acknowledged writes lost. */
const LAG_MS = 1_500
const COMMAND_TIMEOUT_MS = 10_000
const HOUR_MS = 3_600_000
const UNLIMITED = 'unlimited'

/** Draws one fault. The same numbers draw the same fault. */
export function drawFault(cluster: Cluster, random: Random): Fault {
  const kinds = [
    ...[...PROCESS_FAULTS, ...LINK_FAULTS, ...REDIS_FAULTS, ...BROKER_FAULTS, ...OPERATIONS].map(
      (draw) => () => draw(cluster, random),
    ),
  ]
  return pick(kinds, random)()
}

type Draw = (cluster: Cluster, random: Random) => Fault

const pick = <T>(items: readonly T[], random: Random) => random.pick(items) as T
const every = (members: readonly Member[], act: (member: Member) => unknown) =>
  Promise.all(members.map(act)).then(() => undefined)

function groupOf(cluster: Cluster, random: Random): readonly [name: string, members: readonly Member[]] {
  const { kafka, redisServers, sentinels, apis, projectors, consumers } = cluster
  return pick(
    [
      ['broker', kafka.nodes],
      ['redis', redisServers],
      ['sentinel', sentinels],
      ['api', apis],
      ['projector', projectors],
      ['consumer', consumers],
    ],
    random,
  )
}

const killed = (kind: string, members: readonly Member[]): Fault => ({
  kind,
  targets: members.map(({ name }) => name),
  inject: () => every(members, (member) => member.kill()),
  heal: () => every(members, (member) => member.start()),
})

const PROCESS_FAULTS: readonly Draw[] = [
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
      inject: () => member.terminate().then(() => member.start()),
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
          await (restart % 2 === 0 ? member.kill() : member.terminate())
          await member.start()
          await delay(STORM_EVERY_MS)
        }
      },
    }
  },
]

const BOTH: readonly Direction[] = ['upstream', 'downstream']

/** One link, all links of a client or all links to a server. */
function drawLinks({ links }: Cluster, random: Random): { name: string; links: readonly Link[] } {
  const link = pick(links, random)
  const [client, server] = link.name.split('>') as [string, string]
  return pick(
    [
      { name: link.name, links: [link] },
      { name: `${client}>…`, links: links.filter(({ name }) => name.startsWith(`${client}>`)) },
      { name: `…>${server}`, links: links.filter(({ name }) => name.endsWith(`>${server}`)) },
    ],
    random,
  )
}

function linkFault(kind: string, inject: (link: Link, random: Random) => () => Promise<void>): Draw {
  return (cluster, random) => {
    const { name, links } = drawLinks(cluster, random)
    const injections = links.map((link) => inject(link, random))
    return {
      ...{ kind: `network: ${kind}`, targets: [...new Set([name, ...links.map((link) => link.name)])] },
      inject: () => Promise.all(injections.map((injectOne) => injectOne())).then(() => undefined),
      heal: () => Promise.all(links.map((link) => link.heal())).then(() => undefined),
    }
  }
}

const LINK_FAULTS: readonly Draw[] = [
  linkFault('slow', (link, random) => {
    const latency = pick([50, 200, 500, 2_000], random)
    return () => link.add({ type: 'latency', attributes: { latency, jitter: latency / 5 } }, BOTH)
  }),
  // Nothing arrives, and nobody is told.
  linkFault('cut', (link) => () => link.add({ type: 'timeout', attributes: { timeout: 0 } }, BOTH)),
  linkFault('cut in one direction', (link, random) => {
    const direction = pick(BOTH, random)
    return () => link.add({ type: 'timeout', attributes: { timeout: 0 } }, [direction])
  }),
  linkFault('reset', (link, random) => {
    const timeout = pick([0, 20, 500], random)
    return () => link.add({ type: 'reset_peer', attributes: { timeout } }, BOTH)
  }),
  linkFault('refused', (link) => () => link.refuse()),
]

const REDIS = 'redis'

/** What happens to the master of this moment. */
function redisFault(
  kind: string,
  inject: (master: Redis, cluster: Cluster, server: Member) => Promise<unknown>,
  heal?: (cluster: Cluster) => Promise<void>,
): Draw {
  return (cluster) => ({
    ...{ kind: `redis: ${kind}`, targets: [REDIS, ...cluster.redisServers.map(({ name }) => name)] },
    inject: () => withMaster(cluster, (master, server) => inject(master, cluster, server)),
    ...(heal && { heal: () => heal(cluster) }),
  })
}

const REDIS_FAULTS: readonly Draw[] = [
  redisFault('FLUSHALL', (master) => master.flushall()),
  redisFault('SCRIPT FLUSH', (master) => master.script('FLUSH')),
  redisFault('full', (master) => master.config('SET', 'maxmemory', '1mb'), setOnAll('maxmemory', '0')),
  redisFault(
    'refuses writes',
    (master) => master.config('SET', 'min-replicas-to-write', '9'),
    setOnAll('min-replicas-to-write', '0'),
  ),
  redisFault('killed and back at once', async (_, __, server) => {
    await server.kill()
    await server.start()
  }),
  redisFault('set back to an old snapshot', async (master, __, server) => {
    await master.save()
    await delay(LAG_MS)
    await server.kill()
    await server.start()
  }),
  redisFault(
    'failover that loses writes',
    async (_, { redisServers }, server) => {
      const replicas = redisServers.filter((other) => other.name !== server.name)
      for (const replica of replicas) replica.pause()
      await delay(LAG_MS)
      await server.kill()
      for (const replica of replicas) replica.resume()
    },
    ({ redisServers }) =>
      every(redisServers, (server) => {
        server.resume()
        return server.start()
      }),
  ),
]

function setOnAll(setting: string, value: string) {
  return async ({ redisServers }: Cluster) => {
    for (const { port } of redisServers) await withRedis(port, (redis) => redis.config('SET', setting, value))
  }
}

async function withMaster(
  { redisServers }: Cluster,
  act: (master: Redis, server: Cluster['redisServers'][number]) => Promise<unknown>,
): Promise<void> {
  const masters = await Promise.all(redisServers.map(({ port }) => withRedis(port, isMaster).catch(() => false)))
  const server = redisServers[masters.indexOf(true)]
  if (server === undefined) throw new Error('Redis has no master')
  await withRedis(server.port, (redis) => act(redis, server))
}

async function isMaster(redis: Redis): Promise<boolean> {
  const [role] = (await redis.role()) as unknown as [string]
  return role === 'master'
}

async function withRedis<T>(port: number, act: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { commandTimeout: COMMAND_TIMEOUT_MS, maxRetriesPerRequest: 0 })
  redis.on('error', () => undefined)
  try {
    return await act(redis)
  } finally {
    redis.disconnect()
  }
}

const BROKER_FAULTS: readonly Draw[] = [
  ({ kafka: { nodes } }, random) => {
    const left = pick(nodes, random)
    return killed(
      'two brokers: kill -9',
      nodes.filter((node) => node !== left),
    )
  },
  ({ kafka: { nodes } }) => ({
    ...{ kind: 'brokers: rolling restart', targets: nodes.map(({ name }) => name) },
    async inject() {
      for (const node of nodes) {
        await node.terminate()
        await node.start()
      }
    },
  }),
  ({ kafka: { nodes } }, random) => {
    const node = pick(nodes, random)
    return {
      ...{ kind: 'broker: disk full', targets: [node.name] },
      // No file may grow any more. The broker gives up its data directory, and with it itself.
      inject: () => limitFileSize(node, '0'),
      async heal() {
        await limitFileSize(node, UNLIMITED)
        await node.kill()
        await node.start()
      },
    }
  },
]

async function limitFileSize(member: Member, bytes: string): Promise<void> {
  const pid = member.pid()
  if (pid === undefined) return
  await runCommand('prlimit', ['--pid', String(pid), `--fsize=${bytes}:${UNLIMITED}`], {
    timeoutMs: COMMAND_TIMEOUT_MS,
  })
}

/** What operators do while the cluster works: no faults, but nothing may break by them either. */
const OPERATIONS: readonly Draw[] = [
  (cluster) => plantctl(cluster, 'rebuild'),
  (cluster) => plantctl(cluster, 'verify'),
  ({ services }) => ({
    ...{ kind: 'services: rolling restart', targets: services.map(({ name }) => name) },
    async inject() {
      for (const service of services) {
        await service.terminate()
        await service.start()
        await untilReady(service)
      }
    },
  }),
]

/** Beside another fault it may not get ready before that one is removed. */
const READY_WITHIN_MS = 15_000

async function untilReady({ opsUrl }: { opsUrl: string }): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS
  const isReady = () =>
    fetch(`${opsUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady()) && performance.now() < until) await delay(200)
}

/** With a fault beside it, a command may fail; it must then say so. */
function plantctl(cluster: Cluster, ...args: string[]): Fault {
  return {
    ...{ kind: `plantctl ${args[0]}`, targets: [`plantctl ${args[0]}`] },
    async inject() {
      const { code, stderr } = await cluster.plantctl(...args).ended
      if (code !== 0 && code !== 1) throw new Error(`plantctl ${args.join(' ')} ends with ${code}: ${stderr}`)
    },
  }
}
