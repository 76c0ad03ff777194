import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { expect, vi } from 'vitest'
import { freePort, isPortFree } from '../../local/processes/port.mjs'
import type { Trusted } from '../../local/stores/certificates.mjs'
import { startRedis } from '../../local/stores/redis.mjs'
import { openClient, type RedisProcess, redisProcesses } from './redis-processes.ts'

const MASTERS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 1_000
/** Nodes talk to each other at their port plus this. */
const BUS_OFFSET = 10_000
const WAIT = { timeout: 30_000, interval: 50 }

/** `id` is its name in the cluster, `peerPort` for nodes and clients, `client` for what only a test does. */
export type ClusterNode = RedisProcess & { id: string; peerPort: number; client: Redis }

/**
 * Three masters that share the slots, each with one replica; with `tls`, nodes and clients need a certificate. It ends
 * with the test.
 */
export async function startRedisCluster(tls?: Trusted) {
  const { dir, ...processes } = await redisProcesses()
  const nodes = await Promise.all(
    Array.from({ length: 2 * MASTERS }, async (_, n): Promise<ClusterNode> => {
      const port = await portWithBus()
      const peerPort = tls === undefined ? port : await portWithBus()
      const more = {
        'cluster-enabled': 'yes',
        'cluster-node-timeout': String(NODE_TIMEOUT_MS),
        // A replica may take over however long its link is down.
        'cluster-replica-validity-factor': '0',
        'repl-diskless-sync-delay': '0',
        ...(tls !== undefined && {
          'tls-port': String(peerPort),
          'tls-cluster': 'yes',
          'tls-replication': 'yes',
          'tls-cert-file': tls.cert,
          'tls-key-file': tls.key,
          'tls-ca-cert-file': tls.ca,
        }),
      }
      const place = { dir: join(dir, `node-${n}`), logFile: join(dir, `node-${n}.log`), port }
      const server = await startRedis({ ...processes, ...place, more })
      const client = openClient(server)
      return { ...server, peerPort, client, id: String(await client.cluster('MYID')) }
    }),
  )
  const masters = nodes.slice(0, MASTERS)
  const [first] = nodes as [ClusterNode]
  await Promise.all(nodes.slice(1).map(({ client }) => client.cluster('MEET', '127.0.0.1', first.peerPort)))
  await Promise.all(
    masters.map(({ client }, n) => {
      const [from, to] = [n, n + 1].map((part) => Math.floor((part * SLOTS) / MASTERS)) as [number, number]
      return client.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot))
    }),
  )
  for (const [n, { client }] of nodes.slice(MASTERS).entries()) {
    const { id } = masters[n] as ClusterNode
    await vi.waitFor(() => client.cluster('REPLICATE', id), WAIT)
  }
  await vi.waitFor(async () => {
    for (const { client } of nodes) expect(await client.cluster('INFO')).toMatch(/cluster_state:ok/)
    for (const { client } of masters) expect(await client.info('replication')).toMatch(/state=online/)
  }, WAIT)

  return {
    addresses: nodes.map(({ peerPort }) => `127.0.0.1:${peerPort}`).join(','),
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

async function portWithBus(): Promise<number> {
  while (true) {
    const port = await freePort()
    if (await isPortFree(port + BUS_OFFSET, '127.0.0.1')) return port
  }
}
