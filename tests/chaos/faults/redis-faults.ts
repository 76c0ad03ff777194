import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Cluster } from '../cluster.ts'
import { UNTIL_RECOVERED } from '../liveness.ts'
import type { Member } from '../member.ts'
import { COMMAND_TIMEOUT_MS, type Draw, every } from './fault.ts'

/** How long replicas lag before their master dies, and how old a snapshot is: so long are acknowledged writes lost. */
const LAG_MS = 1_500
const REDIS = 'redis'

/**
 * A fault of a current master: the only one, or one of a Redis Cluster. A fault that loses plants stops everything
 * until they have been read from the log again.
 */
function redisFault(
  kind: string,
  loses: 'plants' | 'nothing',
  inject: (master: Redis, cluster: Cluster, server: Member) => Promise<unknown>,
  heal?: (cluster: Cluster) => Promise<void>,
): Draw {
  return (cluster, random) => {
    const which = random.below(cluster.redisServers.length)
    return {
      ...{ kind: `redis: ${kind}`, targets: [REDIS, ...cluster.redisServers.map(({ name }) => name)] },
      effects: loses === 'plants' ? [{ forMs: UNTIL_RECOVERED }] : [],
      inject: () => withMaster(cluster, which, (master, server) => inject(master, cluster, server)),
      ...(heal && { heal: () => heal(cluster) }),
    }
  }
}

export const REDIS_FAULTS: readonly Draw[] = [
  redisFault('FLUSHALL', 'plants', (master) => master.flushall()),
  redisFault('SCRIPT FLUSH', 'nothing', (master) => master.script('FLUSH')),
  redisFault('full', 'nothing', (master) => master.config('SET', 'maxmemory', '1mb'), setOnAll('maxmemory', '0')),
  redisFault(
    'refuses writes',
    'nothing',
    (master) => master.config('SET', 'min-replicas-to-write', '9'),
    setOnAll('min-replicas-to-write', '0'),
  ),
  redisFault('killed and back at once', 'plants', (_, __, server) => server.restart('SIGKILL')),
  redisFault('set back to an old snapshot', 'plants', async (master, __, server) => {
    await master.save()
    await delay(LAG_MS)
    await server.restart('SIGKILL')
  }),
  redisFault(
    'failover that loses writes',
    'plants',
    async (master, _, server) => {
      // The replicas connect again, but may not replicate.
      await master.call('ACL', 'SETUSER', 'default', '-psync', '-sync')
      await master.call('CLIENT', 'KILL', 'TYPE', 'replica')
      await delay(LAG_MS)
      await server.end('SIGKILL')
    },
    async ({ redisServers }) => {
      await every(redisServers, (server) => server.start())
      // A sentinel may have had it written into the configuration file.
      for (const { port } of redisServers)
        await withRedis(port, (redis) => redis.call('ACL', 'SETUSER', 'default', '+psync', '+sync'))
    },
  ),
]

function setOnAll(setting: string, value: string) {
  return async ({ redisServers }: Cluster) => {
    for (const { port } of redisServers) await withRedis(port, (redis) => redis.config('SET', setting, value))
  }
}

async function withMaster(
  { redisServers }: Cluster,
  which: number,
  act: (master: Redis, server: Member) => Promise<unknown>,
): Promise<void> {
  const isMaster = async (redis: Redis) => String((await redis.role())[0]) === 'master'
  const areMasters = await Promise.all(redisServers.map(({ port }) => withRedis(port, isMaster).catch(() => false)))
  const masters = redisServers.filter((_, n) => areMasters[n])
  const server = masters[which % masters.length]
  if (server === undefined) throw new Error('Redis has no master')
  await withRedis(server.port, (redis) => act(redis, server))
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
