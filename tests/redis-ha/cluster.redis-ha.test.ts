import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { livePointer } from '@plant-store/shared/read-model/redis.ts'
import type { Redis } from 'ioredis'
import { expect, it, vi } from 'vitest'
import { documentedRights } from '../support/documented-rights.ts'
import { type RunningNode, startClusterNodes } from '../support/redis-cluster-nodes.ts'
import { issueCertificate, kill, openClient, redisProcesses, tlsSettings } from '../support/redis-processes.ts'
import { SECRET_MARK } from '../support/secrets.ts'
import { PATIENT, startLoadedStore } from '../support/steady-load.ts'

const PASSWORD = `a-password-${SECRET_MARK}`
/** Six slots move, and a failover follows. */
const LONG = { timeout: 240_000 }

/** `id` is its name in the cluster, `client` for what only a test does. */
type ClusterNode = RunningNode & { id: string; client: Redis }

/** A store under load on a Redis Cluster of three masters and their replicas, which all need a certificate. */
async function startOnCluster() {
  const tls = issueCertificate()
  const { masterCount, addresses, ...started } = await startClusterNodes({ ...(await redisProcesses()), tls })
  const { server, clusterNode } = documentedRights()
  const nodes = await Promise.all(
    started.nodes.map(async (node): Promise<ClusterNode> => {
      const client = openClient(node)
      await client.call('ACL', 'SETUSER', 'plants', 'on', `>${PASSWORD}`, ...server, ...clusterNode)
      return { ...node, client, id: String(await client.cluster('MYID')) }
    }),
  )
  const login = { REDIS_USERNAME: 'plants', REDIS_PASSWORD: PASSWORD }
  const loaded = await startLoadedStore({ redis: { REDIS_CLUSTER_NODES: addresses, ...login, ...tlsSettings(tls) } })
  return { ...loaded, nodes, masters: nodes.slice(0, masterCount) }
}

/** The slot of a key, and the master that has it. */
async function ownerOf(nodes: readonly ClusterNode[], key: string): Promise<{ slot: number; master: ClusterNode }> {
  const { client } = nodes[0] as ClusterNode
  const slot = Number(await client.cluster('KEYSLOT', key))
  const ranges = await client.cluster('SLOTS')
  const range = ranges.find(([from, to]) => from <= slot && slot <= to)
  return { slot, master: nodes.find(({ id }) => id === range?.[2]?.[2]) as ClusterNode }
}

/** Moves a slot as an operator does, key by key; `onPart` is called while the slot's keys are on both masters. */
async function moveSlot(slot: number, from: ClusterNode, to: ClusterNode, onPart: () => Promise<void>): Promise<void> {
  await to.client.cluster('SETSLOT', slot, 'IMPORTING', from.id)
  await from.client.cluster('SETSLOT', slot, 'MIGRATING', to.id)
  const keys = (await from.client.cluster('GETKEYSINSLOT', slot, 1_000)) as string[]
  expect(keys.length).toBeGreaterThan(1)
  // A script that finds the live pointer alone would take the generation for gone.
  keys.sort((a, b) => Number(b.endsWith(':live')) - Number(a.endsWith(':live')))
  for (const [n, key] of keys.entries()) {
    await from.client.migrate('127.0.0.1', to.peerPort, key, 0, 5_000)
    if (n < keys.length - 1) await onPart()
  }
}

it(
  'creates go on while slots of a Redis Cluster move and a master fails over, with TLS between all',
  LONG,
  async () => {
    const { nodes, masters, store, load, expectNoHarm } = await startOnCluster()
    const partitions = allPartitions(store.partitions)
    const generations = () => Promise.all(partitions.map(async (p) => (await store.readModel.meta(p)).generation))
    const before = await generations()
    /** The number of times that a master has redirected a caller to the one that a slot is moving to. */
    const redirectionsBy = async ({ client }: ClusterNode) =>
      Number(/^errorstat_ASK:count=(\d+)/m.exec(await client.info('errorstats'))?.[1] ?? 0)

    for (const partition of partitions) {
      const { slot, master } = await ownerOf(nodes, livePointer(store.topic, partition))
      const target = masters[(masters.indexOf(master) + 1) % masters.length] as ClusterNode
      const redirections = await redirectionsBy(master)
      await moveSlot(slot, master, target, () =>
        // Waits until a caller meets the slot that is on two masters.
        vi.waitFor(async () => expect(await redirectionsBy(master)).toBeGreaterThan(redirections), PATIENT),
      )
      // A key that was created in the meantime is on the new master: the old one only redirects for absent keys.
      for (const { client } of [target, master, ...masters]) await client.cluster('SETSLOT', slot, 'NODE', target.id)
      await load.goesOn()
    }
    expect(await generations()).toEqual(before)

    const { master } = await ownerOf(nodes, livePointer(store.topic, 0 as Partition))
    kill(master)
    await vi.waitFor(async () => {
      const others = nodes.filter((node) => node !== master)
      for (const { client } of others) expect(await client.cluster('INFO')).toMatch(/cluster_state:ok/)
      const survivor = others[0] as ClusterNode
      expect(await survivor.client.cluster('NODES')).toMatch(new RegExp(`${master.id} .*master,fail`))
    }, PATIENT)
    await load.goesOn()
    await expectNoHarm()
  },
)
