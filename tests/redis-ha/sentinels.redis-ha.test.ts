import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Trusted } from '../../local/stores/certificates.ts'
import { startSentinels } from '../../local/stores/redis-sentinels.ts'
import { documentedRights } from '../support/documented-rights.ts'
import { PATIENT, startLoadedStore } from '../support/loaded-store.ts'
import { quietLog } from '../support/quiet-log.ts'
import { issueCertificate, kill, openClient, pause, redisProcesses, tlsSettings } from '../support/redis-processes.ts'
import { SECRET_MARK } from '../support/secrets.ts'

const PASSWORD = `a-password-${SECRET_MARK}`

async function startOnSentinels(tls?: Trusted) {
  const replicated = await startSentinels({ ...(await redisProcesses()), ...(tls && { tls }) })
  const [master, ...replicas] = replicated.servers.map((server) => ({ ...server, client: openClient(server) }))
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
    ...(tls && tlsSettings(tls)),
  }
  const loaded = await startLoadedStore({ redis })
  const sentinels = replicated.sentinels.map(openClient)
  const setDownAfterMs = (ms: number) =>
    Promise.all(
      sentinels.map((sentinel) => sentinel.call('SENTINEL', 'SET', replicated.name, 'down-after-milliseconds', ms)),
    )
  /** Each sentinel names a replica as the master: a program that starts now finds it. Returns that replica. */
  const untilFailedOver = () =>
    vi.waitFor(async () => {
      const named = await Promise.all(
        sentinels.map(
          (sentinel) => sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', replicated.name) as Promise<string[]>,
        ),
      )
      for (const address of named) expect(replicas.map(({ peerPort }) => String(peerPort))).toContain(address[1])
      expect(new Set(named.map(([, port]) => port)).size).toBe(1)
      return replicas.find(({ peerPort }) => String(peerPort) === named[0]?.[1]) as (typeof replicas)[number]
    }, PATIENT)
  return { ...loaded, master, replicas, setDownAfterMs, untilFailedOver }
}

it('creates wait for the failover of a master that hangs, and of the next one, which is killed, with TLS between all', async () => {
  const { load, master, untilFailedOver, expectNoHarm } = await startOnSentinels(issueCertificate())
  pause(master)
  const promoted = await untilFailedOver()
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
  await untilFailedOver()
  await vi.waitFor(
    async () => expect((await checkpoints()).every((offset, p) => offset >= (lost[p] as number))).toBe(true),
    PATIENT,
  )
  await load.goesOn()
  await expectNoHarm()
})
