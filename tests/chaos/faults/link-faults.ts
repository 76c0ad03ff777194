import { pick, type Random } from '../../simulation/random.ts'
import type { Cluster } from '../cluster.ts'
import type { Direction, Link } from '../toxiproxy.ts'
import type { Draw } from './fault.ts'

const BOTH: readonly Direction[] = ['upstream', 'downstream']

/** One link, all links of a client or all links to a server. */
function drawLinks({ links }: Cluster, random: Random): { name: string; links: readonly Link[] } {
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

function linkFault(kind: string, inject: (link: Link, random: Random) => () => Promise<void>): Draw {
  return (cluster, random) => {
    const { name, links } = drawLinks(cluster, random)
    const injections = links.map((link) => inject(link, random))
    return {
      ...{ kind: `network: ${kind}`, targets: [...new Set([name, ...links.map((link) => link.name)])] },
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
  // Nothing arrives, and nobody is told.
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
