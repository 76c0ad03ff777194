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

describe('a trusted proxy', () => {
  it.each([
    ...['10.0.0.1', '::1', '10.0.0.0/1', '10.1.2.3/32', 'fe80::/1', '::1/128'],
    ...['loopback', 'linklocal', 'uniquelocal'],
  ])('may be %s, which Fastify understands', async (text) => {
    expect(isProxy(text)).toBe(true)
    await fastify({ trustProxy: [text] }).close()
  })

  it.each([
    ...['', '1', 'true', '*', 'all', 'proxy.example', '10.0.0.0/0', '::/0', '10.0.0.0/33', '::1/129', '10.0.0.0/'],
    ...['10.0.0.0/8/8', '10.0.0.0/255.0.0.0', '10.0.0', 'fe80::1%eth0', '1.2.3.4:80'],
  ])('is not %j', (text) => expect(isProxy(text)).toBe(false))

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
    for (const text of ['', 'unknown', 'a b', `${CLIENT}:4711`])
      expect(await clientSeen(['loopback'], '127.0.0.1', text)).toBe('127.0.0.1')
  })
})
