import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { RedisSettings } from '@plant-store/shared/read-model/redis-settings.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../local/processes/port.ts'
import { startSentinels } from '../../local/stores/redis-sentinels.ts'
import { quietLog } from '../support/quiet-log.ts'
import { portWithBus } from '../support/redis-cluster-nodes.ts'
import { openClient, pause, redisProcesses, startRedisProcess } from '../support/redis-processes.ts'

const WAIT_MS = 30_000

/** A read model on this Redis, until the test ends. */
function openReadModel(redis: RedisSettings, log = quietLog) {
  const readModel = createReadModel({ redis, topic: 'plants', partitions: 1 }, log)
  onTestFinished(readModel.close)
  return readModel
}

it('a Redis that hangs is not reachable, by its address, and no text of the client is shown', async () => {
  const server = await startRedisProcess({})
  const readModel = openReadModel({ REDIS_URL: server.url })
  await readModel.ready()
  pause(server)
  const [problems, failures] = [new Set<string>(), new Set<string>()]
  // A connection that was accepted by the kernel alone is not answered: its attempts follow each other.
  const notReachable = `redis: Redis at ${server.url} does not respond (timed out): check that it runs and is not overloaded`
  await vi.waitFor(
    async () => {
      for (const problem of readModel.problems()) problems.add(problem)
      await readModel.checkServer().catch(({ message }: Error) => failures.add(message))
      expect(problems).toContain(notReachable)
      expect(failures.size).toBe(2)
    },
    { timeout: WAIT_MS, interval: 20 },
  )
  expect([...problems].sort()).toEqual([notReachable, 'redis: not reachable'].sort())
  for (const failure of failures) expect(failure).toMatch(`Redis at ${server.url} `)
})

it('a Redis of another kind than the settings say is named, with the setting to correct', async () => {
  const { addresses, name, servers, sentinels } = await startSentinels(await redisProcesses())
  const addressOf = ([server]: readonly { port: number }[]) => `127.0.0.1:${server?.port}`
  for (const [redis, reason] of [
    [{ REDIS_URL: `redis://${addressOf(sentinels)}` }, /^REDIS_URL names a sentinel: set REDIS_SENTINELS/],
    [{ REDIS_SENTINELS: addresses, REDIS_SENTINEL_NAME: `no-${name}` }, /correct it$/],
    [{ REDIS_SENTINELS: addressOf(servers), REDIS_SENTINEL_NAME: name }, /is no sentinel: set REDIS_URL instead$/],
    [{ REDIS_CLUSTER_NODES: addressOf(servers) }, /without a cluster: set REDIS_URL instead$/],
  ] satisfies [RedisSettings, RegExp][]) {
    const readModel = openReadModel(redis)
    await expect(readModel.ready().then(readModel.checkServer)).rejects.toThrow(reason)
  }
})

it('a Redis Cluster with a node that cannot be reached is not ready, and the reason is named', async () => {
  const announced = { 'cluster-announce-ip': '127.0.0.1', 'cluster-announce-port': String(await freePort()) }
  const { port } = await startRedisProcess({ 'cluster-enabled': 'yes', ...announced }, { port: await portWithBus() })
  await openClient({ port }).cluster('ADDSLOTS', 0)
  const warn = vi.fn()
  const readModel = openReadModel({ REDIS_CLUSTER_NODES: `127.0.0.1:${port}` }, { ...quietLog, warn })
  const reason = /^redis: the nodes of the Redis Cluster cannot be used: check .*addresses/
  const problems = ['redis: not reachable', expect.stringMatching(reason)]
  await vi.waitFor(() => expect(readModel.problems()).toEqual(problems), WAIT_MS)
  expect(warn.mock.calls).toEqual([[expect.anything(), expect.stringMatching(reason)]])
})
