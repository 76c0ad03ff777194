import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

const PAGE = new URL('../../docs/how-to/connect-secured-stores.md', import.meta.url)

/**
 * The rights that the documentation gives for a server, in addition for a node of a cluster, and for a sentinel; for
 * the topics of the tests. `reading` are the commands of an api alone.
 */
export function documentedRights(): Record<'server' | 'reading' | 'clusterNode' | 'sentinel', string[]> {
  const page = readFileSync(PAGE, 'utf8').replaceAll('\\\n', '')
  const statements = [...page.matchAll(/^ACL SETUSER plants (?:on >… )?(.+)$/gm)]
  const [server = [], clusterNode = [], sentinel = []] = statements.map(([, rights = '']) =>
    rights.trim().replace('{plants:', '{plants-*').split(/\s+/),
  )
  expect(statements).toHaveLength(3)
  const [, reading = ''] = /An api alone needs only `(.+?)`/.exec(page) ?? []
  expect(reading).not.toBe('')
  return { server, reading: reading.split(' '), clusterNode, sentinel }
}
