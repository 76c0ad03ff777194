import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** Names of ranges that Fastify knows: this machine, and the private networks of IPv4 and IPv6. */
const RANGES = ['loopback', 'linklocal', 'uniquelocal']
const PREFIX_MAX_BITS: Record<number, number> = { 4: 32, 6: 128 }

/**
 * True if `text` names proxies by location: an address, a CIDR or the name of a range. A number of hops would trust
 * every client that connects directly, and so would a CIDR of all addresses.
 */
export function isProxy(text: string): boolean {
  if (RANGES.includes(text)) return true
  const [address = '', bits, ...more] = text.split('/')
  const maxBits = PREFIX_MAX_BITS[isIP(address)]
  if (maxBits === undefined || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= maxBits)
}

/**
 * The address of the client: the nearest one that is no trusted proxy. If the last trusted proxy forwards something
 * else than an address, it is that proxy's own.
 */
export function clientAddressOf({ ips, ip }: Pick<FastifyRequest, 'ips' | 'ip'>): string | undefined {
  return ips === undefined ? ip : ips.findLast((address) => isIP(address) !== 0)
}
