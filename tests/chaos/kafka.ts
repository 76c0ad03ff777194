import { join } from 'node:path'
import { freePort } from '../../local/processes/port.ts'
import { answersKafka, newClusterId, startNode } from '../../local/stores/kafka.ts'
import { clusterSettings } from '../../local/stores/kafka-cluster.ts'
import { createMember, type MemberOptions } from './member.ts'
import type { Link, Toxiproxy } from './toxiproxy.ts'

const HOST = '127.0.0.1'
const NODE_IDS = [1, 2, 3]
const START_TIMEOUT_MS = 120_000

export type KafkaOptions = Pick<MemberOptions, 'onUnexpectedEnd'> & {
  dir: string
  logDir: string
  java: string
  classpath: string
  toxiproxy: Toxiproxy
  /** The clients that reach each broker by a separate link. */
  clients: readonly string[]
}

/**
 * Three brokers. Each client has a separate listener at each broker, which is advertised as the port of a link. The
 * same holds for connections between brokers and to controllers. `brokers` are the addresses without links.
 */
export async function startKafka({ toxiproxy, clients, dir, logDir, ...options }: KafkaOptions) {
  const links: Link[] = []
  async function linked(name: string) {
    const port = await freePort()
    const link = await toxiproxy.link(name, port)
    links.push(link)
    return { port, linkPort: link.port }
  }
  const places = await Promise.all(
    NODE_IDS.map(async (id) => ({
      id,
      plain: await freePort(),
      controller: await linked(`controllers>kafka-${id}`),
      peers: await linked(`brokers>kafka-${id}`),
      clients: new Map(
        await Promise.all(clients.map(async (client) => [client, await linked(`${client}>kafka-${id}`)] as const)),
      ),
    })),
  )
  const clusterId = newClusterId()
  const names = ['PLAIN', 'PEERS', 'CONTROLLER', ...clients.map(listenerOf)]
  const common = {
    ...clusterSettings(places.map(({ id, controller }) => ({ id, controller: controller.linkPort }))),
    'listener.security.protocol.map': names.map((name) => `${name}:PLAINTEXT`).join(','),
    'inter.broker.listener.name': 'PEERS',
    // A fault affects the partitions that a broker leads when it begins.
    'auto.leader.rebalance.enable': false,
    // A broker that starts while the two others are down waits for them, longer than the 60 s after which it would end.
    'initial.broker.registration.timeout.ms': START_TIMEOUT_MS,
  }

  const nodes = places.map((place) => {
    const name = `kafka-${place.id}`
    const own = (port: 'port' | 'linkPort') => [
      `PLAIN://${HOST}:${place.plain}`,
      `PEERS://${HOST}:${place.peers[port]}`,
      // Advertised too: voters that went around the link would keep a controller that no broker can reach.
      `CONTROLLER://${HOST}:${place.controller[port]}`,
      ...[...place.clients].map(([client, ports]) => `${listenerOf(client)}://${HOST}:${ports[port]}`),
    ]
    const start = () =>
      startNode({
        ...options,
        ...{ name, clusterId, dir: join(dir, name), logFile: join(logDir, `${name}.log`) },
        startTimeoutMs: START_TIMEOUT_MS,
        settings: {
          ...common,
          'node.id': place.id,
          listeners: own('port').join(','),
          'advertised.listeners': own('linkPort').join(','),
        },
        isReady: () => answersKafka(place.plain),
      })
    return createMember({ ...options, name, start, mayEnd: true })
  })
  await Promise.all(nodes.map((node) => node.start()))
  return {
    nodes,
    links,
    brokers: places.map(({ plain }) => `${HOST}:${plain}`).join(','),
    brokersOf: (client: string) => places.map((place) => `${HOST}:${place.clients.get(client)?.linkPort}`).join(','),
  }
}

const listenerOf = (client: string) => client.toUpperCase().replaceAll('-', '_')
