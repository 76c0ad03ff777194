import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Redis } from 'ioredis'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startSentinels } from '../../local/stores/redis-sentinels.ts'
import { documentedRights } from '../support/documented-rights.ts'
import { quietLog } from '../support/quiet-log.ts'
import { issueCertificate, kill, openClient, pause, redisProcesses, tlsSettings } from '../support/redis-processes.ts'
import { SECRET_MARK } from '../support/secrets.ts'
import { PATIENT, startLoadedStore } from '../support/steady-load.ts'

const PASSWORD = `a-password-${SECRET_MARK}`

/** A store under load on a Redis with two replicas and three sentinels, with TLS between all. */
async function startOnSentinels() {
  const tls = issueCertificate()
  const replicated = await startSentinels({ ...(await redisProcesses()), tls })
  const servers = replicated.servers.map((server) => ({ ...server, client: openClient(server) }))
  const [master, ...replicas] = servers
  if (master === undefined) throw new Error('no master')
  // A login at both, each with exactly the documented rights.
  const rights = documentedRights()
  const setUser = (server: { port: number }, rules: string[]) =>
    openClient(server).call('ACL', 'SETUSER', 'plants', 'on', `>${PASSWORD}`, ...rules)
  for (const server of replicated.servers) await setUser(server, rights.server)
  for (const sentinel of replicated.sentinels) await setUser(sentinel, rights.sentinel)
  const redis = {
    REDIS_SENTINELS: replicated.addresses,
    REDIS_SENTINEL_NAME: replicated.name,
    REDIS_SENTINEL_USERNAME: 'plants',
    REDIS_SENTINEL_PASSWORD: PASSWORD,
    REDIS_USERNAME: 'plants',
    REDIS_PASSWORD: PASSWORD,
    ...tlsSettings(tls),
  }
  const loaded = await startLoadedStore({ redis })
  const sentinels = replicated.sentinels.map(openClient)
  const setDownAfterMs = (ms: number) =>
    Promise.all(
      sentinels.map((sentinel) => sentinel.call('SENTINEL', 'SET', replicated.name, 'down-after-milliseconds', ms)),
    )
  /** As an operator orders it, before an upgrade of the master. */
  const failOver = () => vi.waitFor(() => sentinels[0]?.call('SENTINEL', 'FAILOVER', replicated.name), PATIENT)
  /** Each sentinel names one other server as the master: a program that starts now finds it. Returns that server. */
  const untilFailedOver = (from: { peerPort: number }) =>
    vi.waitFor(async () => {
      const ask = (sentinel: Redis) => sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', replicated.name)
      const named = new Set((await Promise.all(sentinels.map(ask))).map((address) => Number((address as string[])[1])))
      expect([...named]).toEqual([expect.any(Number)])
      expect(named).not.toContain(from.peerPort)
      return servers.find(({ peerPort }) => named.has(peerPort)) as typeof master
    }, PATIENT)
  return { ...loaded, master, replicas, setDownAfterMs, failOver, untilFailedOver }
}

it('creates wait for a planned failover, of a master that hangs, and of one that is killed, with TLS between all', async () => {
  const { load, master, failOver, untilFailedOver, expectNoHarm } = await startOnSentinels()
  await failOver()
  const successor = await untilFailedOver(master)
  await load.goesOn()
  pause(successor)
  const promoted = await untilFailedOver(successor)
  await load.goesOn()
  kill(promoted)
  await promoted.exited
  await promoted.start()
  await load.goesOn()
  await expectNoHarm()
})

it('what a failover loses is written again', async () => {
  const { store, load, master, replicas, setDownAfterMs, untilFailedOver, expectNoHarm } = await startOnSentinels()
  // Sentinels promote no replica that lost its master more than ten times as long ago as they missed the master: with
  // the 1 s of the other tests, a busy machine would have too little time before the kill.
  await setDownAfterMs(5_000)
  // The replicas stay as they are: they connect again, but may not replicate.
  await master.client.call('ACL', 'SETUSER', 'default', '-psync', '-sync')
  await master.client.call('CLIENT', 'KILL', 'TYPE', 'replica')
  const checkpointsIn = (readModel: ReadModel) =>
    Promise.all(allPartitions(store.partitions).map(async (p) => (await readModel.meta(p)).checkpoint.offset))
  const checkpoints = () => checkpointsIn(store.readModel)
  await load.goesOn()
  for (const { port } of replicas) {
    const place = { REDIS_URL: `redis://127.0.0.1:${port}` }
    const replica = createReadModel({ redis: place, topic: store.topic, partitions: store.partitions }, quietLog)
    onTestFinished(replica.close)
    await replica.ready()
    const kept = await checkpointsIn(replica)
    await vi.waitFor(
      async () => expect((await checkpoints()).every((offset, p) => offset > (kept[p] as number))).toBe(true),
      PATIENT,
    )
  }
  const lost = await checkpoints()
  kill(master)
  await untilFailedOver(master)
  await vi.waitFor(
    async () => expect((await checkpoints()).every((offset, p) => offset >= (lost[p] as number))).toBe(true),
    PATIENT,
  )
  await load.goesOn()
  await expectNoHarm()
})
