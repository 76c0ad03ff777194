import { pick, type Random } from '../../simulation/random.ts'
import { CONTINUES_WITHIN_MS, type Effect, UNTIL_RECOVERED } from '../liveness.ts'
import type { Direction, Link } from '../toxiproxy.ts'
import { createsLedBy, type Draw, type Scene } from './fault.ts'

const BOTH: readonly Direction[] = ['upstream', 'downstream']

/** One link, all links of a client or all links to a server. */
function drawLinks({ links }: Scene, random: Random): { name: string; links: readonly Link[] } {
  const link = pick(links, random)
  const [client, server] = link.name.split('>') as [string, string]
  return pick(
    [
      { name: link.name, links: [link] },
      { name: `${client}>…`, links: links.filter(({ name }) => name.startsWith(`${client}>`)) },
      { name: `…>${server}`, links: links.filter(({ name }) => name.endsWith(`>${server}`)) },
    ],
    random,
  )
}

/** Effects of a disturbed link. The leader of a partition stays where it is, so nothing else can write there. */
function effectsOf({ name }: Link, scene: Scene): readonly Effect[] {
  const [client, server] = name.split('>') as [string, string]
  if (client === 'clients') return [{ apis: [server], forMs: UNTIL_RECOVERED }]
  if (client === 'all') {
    // Nodes of a Redis Cluster that lose only their port for clients still talk to each other: none takes over.
    const staysMaster = scene.sentinels.length === 0 && !server.endsWith('-bus')
    const limit = staysMaster ? { forMs: UNTIL_RECOVERED } : { gapMs: CONTINUES_WITHIN_MS }
    return [{ servers: [server.replace('-bus', '')], ...limit }]
  }
  // Another controller, or brokers that miss their heartbeats and are fenced for a moment.
  if (client === 'controllers') return [{ of: 'create', servers: [server], gapMs: CONTINUES_WITHIN_MS }]
  const led = { ...createsLedBy(server, scene), forMs: UNTIL_RECOVERED }
  // Its followers cannot replicate, and leave the ISR after replica.lag.time.max.ms (30 s).
  if (client === 'brokers') return [led]
  return client.startsWith('api') ? [{ ...led, apis: [client] }] : []
}

function linkFault(kind: string, inject: (link: Link, random: Random) => () => Promise<void>): Draw {
  return (scene, random) => {
    const { name, links } = drawLinks(scene, random)
    const injections = links.map((link) => inject(link, random))
    return {
      ...{ kind: `network: ${kind}`, targets: [...new Set([name, ...links.map((link) => link.name)])] },
      effects: links.flatMap((link) => effectsOf(link, scene)),
      inject: () => Promise.all(injections.map((injectOne) => injectOne())).then(() => undefined),
      heal: () => Promise.all(links.map((link) => link.heal())).then(() => undefined),
    }
  }
}

export const LINK_FAULTS: readonly Draw[] = [
  linkFault('slow', (link, random) => {
    const latency = pick([50, 200, 500, 2_000], random)
    return () => link.add({ type: 'latency', attributes: { latency, jitter: latency / 5 } }, BOTH)
  }),
  // Nothing arrives, and neither side gets an error.
  linkFault('cut', (link) => () => link.add({ type: 'timeout', attributes: { timeout: 0 } }, BOTH)),
  linkFault('cut in one direction', (link, random) => {
    const direction = pick(BOTH, random)
    return () => link.add({ type: 'timeout', attributes: { timeout: 0 } }, [direction])
  }),
  linkFault('reset', (link, random) => {
    const timeout = pick([0, 20, 500], random)
    return () => link.add({ type: 'reset_peer', attributes: { timeout } }, BOTH)
  }),
  linkFault('refused', (link) => () => link.refuse()),
]
