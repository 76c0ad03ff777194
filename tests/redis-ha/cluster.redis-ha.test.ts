import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { livePointer } from '@plant-store/shared/read-model/redis.ts'
import { expect, it, vi } from 'vitest'
import type { Trusted } from '../../local/stores/certificates.ts'
import { documentedRights } from '../support/documented-rights.ts'
import { PATIENT, startLoadedStore } from '../support/loaded-store.ts'
import { type ClusterNode, startRedisCluster } from '../support/redis-cluster.ts'
import { issueCertificate, kill, tlsSettings } from '../support/redis-processes.ts'
import { SECRET_MARK } from '../support/secrets.ts'

const PASSWORD = `a-password-${SECRET_MARK}`

async function startOnCluster(tls?: Trusted) {
  const cluster = await startRedisCluster(tls)
  const { server, clusterNode } = documentedRights()
  for (const { client } of cluster.nodes) {
    await client.call('ACL', 'SETUSER', 'plants', 'on', `>${PASSWORD}`, ...server, ...clusterNode)
  }
  const loaded = await startLoadedStore({
    redis: {
      REDIS_CLUSTER_NODES: cluster.addresses,
      REDIS_USERNAME: 'plants',
      REDIS_PASSWORD: PASSWORD,
      ...(tls && tlsSettings(tls)),
    },
  })
  return { cluster, ...loaded }
}

it('creates wait for the failover of a master of a Redis Cluster, with TLS between all', async () => {
  const { cluster, store, load, expectNoHarm } = await startOnCluster(issueCertificate())
  const { master } = await cluster.ownerOf(livePointer(store.topic, 0 as Partition))
  kill(master)
  await vi.waitFor(async () => {
    const others = cluster.nodes.filter((node) => node !== master)
    for (const { client } of others) expect(await client.cluster('INFO')).toMatch(/cluster_state:ok/)
    const survivor = others[0] as ClusterNode
    expect(await survivor.client.cluster('NODES')).toMatch(new RegExp(`${master.id} .*master,fail`))
  }, PATIENT)
  await load.goesOn()
  await expectNoHarm()
})

it('slots can move between masters of a Redis Cluster under load', async () => {
  const { cluster, store, load, expectNoHarm } = await startOnCluster()
  const partitions = allPartitions(store.partitions)
  const generations = () => Promise.all(partitions.map(async (p) => (await store.readModel.meta(p)).generation))
  const before = await generations()
  /** The number of times that a master has redirected a caller to the one that a slot is moving to. */
  const redirectionsBy = async ({ client }: ClusterNode) =>
    Number(/^errorstat_ASK:count=(\d+)/m.exec(await client.info('errorstats'))?.[1] ?? 0)

  for (const partition of partitions) {
    const { slot, master } = await cluster.ownerOf(livePointer(store.topic, partition))
    const target = cluster.masters[(cluster.masters.indexOf(master) + 1) % cluster.masters.length] as ClusterNode
    const redirections = await redirectionsBy(master)
    await cluster.moveSlot(slot, master, target, () =>
      // Waits until a caller meets the slot that is on two masters.
      vi.waitFor(async () => expect(await redirectionsBy(master)).toBeGreaterThan(redirections), PATIENT),
    )
    await load.goesOn()
  }
  expect(await generations()).toEqual(before)
  await expectNoHarm()
})
