export type HostPort = { host: string; port: number }

const IN_BRACKETS = '\\[[\\da-fA-F]*:[\\da-fA-F:.]+(?:%\\w+)?\\]'
/** From 1 to 65535. */
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'
const ADDRESS = `(?:${IN_BRACKETS}|[^,\\s:\\[\\]]+):${PORT}`

/** Patterns of one address and of several. An IPv6 address is in brackets, as in a URL. */
export const HOST_PORT = `^${ADDRESS}$`
export const HOST_PORTS = `^${ADDRESS}(?:,${ADDRESS})*$`

/** Splits an address that matches `HOST_PORT`. The host has no brackets. */
export function hostPortOf(address: string): HostPort {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) }
}
