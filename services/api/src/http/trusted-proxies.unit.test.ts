import fc from 'fast-check'
import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { clientAddressOf, isProxy } from './trusted-proxies.ts'

const CLIENT = '198.51.100.7'

/** The client's address, as an app sees it that trusts these proxies, when the last hop comes from `peer`. */
async function clientSeen(trustProxy: string[], peer: string, forwardedFor: string): Promise<string | undefined> {
  const app = fastify({ trustProxy })
  let seen: string | undefined
  app.get('/', (request) => {
    seen = clientAddressOf(request)
    return ''
  })
  await app.inject({ url: '/', remoteAddress: peer, headers: { 'x-forwarded-for': forwardedFor } })
  await app.close()
  return seen
}

const address = fc.oneof(fc.ipV4(), fc.ipV6())
const proxy = fc.oneof(
  address,
  fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 32 })).map((parts) => parts.join('/')),
  fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 128 })).map((parts) => parts.join('/')),
  fc.constantFrom('loopback', 'linklocal', 'uniquelocal'),
)

describe('a trusted proxy', () => {
  it('is an address, a CIDR or a named range, all of which Fastify understands', async () => {
    await fc.assert(
      fc.asyncProperty(proxy, async (text) => {
        expect(isProxy(text)).toBe(true)
        await fastify({ trustProxy: [text] }).close()
      }),
    )
  })

  it('is nothing else: no number of hops, no name, and not everything', () => {
    for (const text of ['', '1', 'true', '*', 'all', 'proxy.example', '10.0.0.0/0', '::/0', '10.0.0.0/33', '::1/129']) {
      expect([text, isProxy(text)]).toEqual([text, false])
    }
    for (const text of ['10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/255.0.0.0', '10.0.0', 'fe80::1%eth0', '1.2.3.4:80']) {
      expect([text, isProxy(text)]).toEqual([text, false])
    }
  })

  it('says who the client is; anybody else does not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.ipV4(), fc.array(fc.ipV4(), { maxLength: 3 }), async (peer, claimed) => {
        const forwardedFor = [...claimed, CLIENT].join(', ')
        expect(await clientSeen([peer], peer, forwardedFor)).toBe(CLIENT)
        const other = peer === '203.0.113.1' ? '203.0.113.2' : '203.0.113.1'
        expect(await clientSeen([peer], other, forwardedFor)).toBe(other)
      }),
      { numRuns: 30 },
    )
  })

  it('that forwards something else than an address is the client itself', async () => {
    for (const text of ['', 'unknown', 'a b', `${CLIENT}:4711`, 'x'.repeat(5_000)]) {
      expect(await clientSeen(['loopback'], '127.0.0.1', text)).toBe('127.0.0.1')
    }
  })
})
