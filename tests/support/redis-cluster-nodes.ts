import assert from 'node:assert/strict'
import { join } from 'node:path'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { Redis } from 'ioredis'
import { DEFAULT_RANGE, freePort, isPortFree } from '../../local/processes/port.ts'
import type { Trusted } from '../../local/stores/certificates.ts'
import { startRedis } from '../../local/stores/redis.ts'
import { type RunningServer, tlsAt } from '../../local/stores/redis-sentinels.ts'

const MASTERS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 1_000
/** Nodes talk to each other at their port plus this. */
const BUS_OFFSET = 10_000
const PATIENCE = { everyMs: 50, giveUpAfterMs: 30_000 }

/** `peerPort` is for clients, `busPort` for other nodes. */
export type RunningNode = RunningServer & { busPort: number }

type NodeOptions = {
  /** Belongs to these nodes alone. */
  dir: string
  redisServer: string
  /** The folder of their logs; `dir` unless given. */
  logDir?: string
  /** Nodes and clients need a certificate. */
  tls?: Trusted | undefined
  /** The port at which clients and other nodes reach this port, when there is a proxy between them. Not with TLS. */
  reachedAt?(name: string, port: number): Promise<number>
}

/** Starts a Redis Cluster: three masters, the first nodes, that share the slots, and a replica of each. */
export async function startClusterNodes({ dir, logDir = dir, tls, reachedAt, ...processes }: NodeOptions) {
  const nodes = await Promise.all(
    Array.from({ length: 2 * MASTERS }, async (_, n): Promise<RunningNode> => {
      const [name, port] = [`redis-${n + 1}`, await portWithBus()]
      const tlsPort = tls && (await portWithBus())
      const reached = reachedAt && {
        port: await reachedAt(name, port),
        busPort: await reachedAt(`${name}-bus`, port + BUS_OFFSET),
      }
      const more = {
        'cluster-enabled': 'yes',
        'cluster-node-timeout': String(NODE_TIMEOUT_MS),
        // A replica may take over however long its link is down.
        'cluster-replica-validity-factor': '0',
        'repl-diskless-sync-delay': '0',
        ...(tls && tlsPort && { ...tlsAt(tlsPort, tls), 'tls-cluster': 'yes' }),
        ...(reached && {
          'cluster-announce-ip': '127.0.0.1',
          'cluster-announce-port': String(reached.port),
          'cluster-announce-bus-port': String(reached.busPort),
        }),
      }
      const places = { name, port, dir: join(dir, name), logFile: join(logDir, `${name}.log`) }
      const peerPort = reached?.port ?? tlsPort ?? port
      const start = () => startRedis({ ...processes, ...places, more })
      return { ...(await start()), peerPort, busPort: reached?.busPort ?? peerPort + BUS_OFFSET, start }
    }),
  )
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
  try {
    await formCluster(clients, nodes)
  } finally {
    for (const client of clients) client.disconnect()
  }
  return { nodes, masterCount: MASTERS, addresses: nodes.map(({ peerPort }) => `127.0.0.1:${peerPort}`).join(',') }
}

/** Introduces the nodes to each other, gives the slots to the masters, and each master its replica. */
async function formCluster(clients: readonly Redis[], nodes: readonly RunningNode[]): Promise<void> {
  const [first] = nodes as [RunningNode]
  const masters = clients.slice(0, MASTERS)
  for (const client of clients.slice(1))
    await client.call('CLUSTER', 'MEET', '127.0.0.1', first.peerPort, first.busPort)
  for (const [n, client] of masters.entries()) {
    const [from, to] = [n, n + 1].map((part) => Math.floor((part * SLOTS) / MASTERS)) as [number, number]
    await client.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot))
  }
  for (const [n, client] of clients.slice(MASTERS).entries()) {
    const id = await (masters[n] as Redis).cluster('MYID')
    await retry(() => client.cluster('REPLICATE', String(id)), PATIENCE)
  }
  await retry(async () => {
    for (const client of clients) assert.match(String(await client.cluster('INFO')), /cluster_state:ok/)
    for (const client of masters) assert.match(await client.info('replication'), /state=online/)
  }, PATIENCE)
}

/** The port of the bus is drawn, because above it are the ports of outgoing connections. */
export async function portWithBus(): Promise<number> {
  while (true) {
    const port = (await freePort()) - BUS_OFFSET
    // From there on, another caller of freePort may draw it.
    if (port < DEFAULT_RANGE.from && (await isPortFree(port, '127.0.0.1'))) return port
  }
}
