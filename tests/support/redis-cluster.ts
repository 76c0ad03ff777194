import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { Trusted } from '../../local/stores/certificates.ts'
import { type RunningNode, startClusterNodes } from './redis-cluster-nodes.ts'
import { openClient, redisProcesses } from './redis-processes.ts'

/** `id` is its name in the cluster, `client` for what only a test does. */
export type ClusterNode = RunningNode & { id: string; client: Redis }

/** A Redis Cluster of three masters and their replicas; with `tls` all need a certificate. It ends with the test. */
export async function startRedisCluster(tls?: Trusted) {
  const { masterCount, addresses, ...started } = await startClusterNodes({ ...(await redisProcesses()), tls })
  const nodes = await Promise.all(
    started.nodes.map(async (node): Promise<ClusterNode> => {
      const client = openClient(node)
      return { ...node, client, id: String(await client.cluster('MYID')) }
    }),
  )
  const masters = nodes.slice(0, masterCount)
  const [first] = nodes as [ClusterNode]
  return {
    addresses,
    nodes,
    masters,

    /** The slot of a key, and the master that has it. */
    async ownerOf(key: string): Promise<{ slot: number; master: ClusterNode }> {
      const slot = Number(await first.client.cluster('KEYSLOT', key))
      const ranges = await first.client.cluster('SLOTS')
      const range = ranges.find(([from, to]) => from <= slot && slot <= to)
      return { slot, master: nodes.find(({ id }) => id === range?.[2]?.[2]) as ClusterNode }
    },

    /** Moves a slot as an operator does, key by key; `onPart` is called while the slot's keys are on both masters. */
    async moveSlot(slot: number, from: ClusterNode, to: ClusterNode, onPart: () => Promise<void>): Promise<void> {
      await to.client.cluster('SETSLOT', slot, 'IMPORTING', from.id)
      await from.client.cluster('SETSLOT', slot, 'MIGRATING', to.id)
      const keys = (await from.client.cluster('GETKEYSINSLOT', slot, 1_000)) as string[]
      expect(keys.length).toBeGreaterThan(1)
      // A script that finds the live pointer alone would take the generation for gone.
      keys.sort((a, b) => Number(b.endsWith(':live')) - Number(a.endsWith(':live')))
      for (const [n, key] of keys.entries()) {
        await from.client.migrate('127.0.0.1', to.port, key, 0, 5_000)
        if (n < keys.length - 1) await onPart()
      }
      // A key that was created in the meantime is on the new master: the old one only redirects for absent keys.
      for (const { client } of [to, from, ...masters]) await client.cluster('SETSLOT', slot, 'NODE', to.id)
    },
  }
}
