import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { listen } from '../../../../tests/support/listen.ts'
import { createPageBudget } from './page-budget.ts'

/** Larger than the buffers of a connection. */
const PAGE = 'x'.repeat(20_000_000)
const LONG_MS = 60_000

/** A server whose pages the test completes, with a budget of 10 plants. */
async function openServer(readTimeoutMs = LONG_MS) {
  const budget = createPageBudget({ maxPlants: 10, readTimeoutMs })
  const pages: { complete(): void; fail(): void }[] = []
  const decisions: string[] = []
  let callers = 0
  const server = createServer((request, response) => {
    const [, caller = '', limit] = request.url?.split('/') ?? []
    const page = budget.run(caller, Number(limit), response, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      pages.push({ complete: () => resolve(PAGE), fail: () => reject(new Error('no page')) })
      return promise
    })
    decisions.push(page === undefined ? 'refused' : 'started')
    if (page === undefined) response.end()
    page?.then(
      (text) => response.end(text),
      () => response.end(),
    )
  })
  const port = await listen(server)

  return {
    pages,
    /** Requests a page on a separate connection and does not read the response. */
    async request(
      limit: number,
      caller = `caller-${++callers}`,
    ): Promise<{ socket: Socket; decision: string | undefined }> {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined).pause()
      const before = decisions.length
      socket.write(`GET /${caller}/${limit} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await eventually(() => expect(decisions).toHaveLength(before + 1))
      return { socket, decision: decisions.at(-1) }
    },
  }
}

describe('the page budget', () => {
  it('refuses a page that would exceed the most plants in flight', async () => {
    const server = await openServer()
    expect((await server.request(6)).decision).toBe('started')
    expect((await server.request(5)).decision).toBe('refused')
    expect((await server.request(4)).decision).toBe('started')
    expect((await server.request(1)).decision).toBe('refused')
  })

  it('leaves room for others: a caller has one page, and more up to half of what others leave', async () => {
    const server = await openServer()
    const decisionsOf = async (caller: string, limits: number[]) => {
      const decisions: unknown[] = []
      for (const limit of limits) decisions.push((await server.request(limit, caller)).decision)
      return decisions
    }
    expect(await decisionsOf('greedy', [3, 2, 1])).toEqual(['started', 'started', 'refused'])
    expect(await decisionsOf('second', [1, 1, 1])).toEqual(['started', 'started', 'refused'])
    expect(await decisionsOf('third', [3, 1])).toEqual(['started', 'refused'])
    for (const { fail } of server.pages) fail()
    await eventually(async () => expect(await decisionsOf('greedy', [10])).toEqual(['started']))
  })

  it('counts a page until it is complete, also when its client has left', async () => {
    const server = await openServer()
    const { socket } = await server.request(10)
    socket.resetAndDestroy()
    expect((await server.request(1)).decision).toBe('refused')
    server.pages[0]?.complete()
    await eventually(async () => expect((await server.request(10)).decision).toBe('started'))
  })

  it('counts a complete page until its client has read it', async () => {
    const server = await openServer()
    const { socket } = await server.request(10)
    server.pages[0]?.complete()
    expect((await server.request(1)).decision).toBe('refused')
    socket.resume()
    await eventually(async () => expect((await server.request(10)).decision).toBe('started'))
  })

  it('closes the connection of a client that does not read its page in time', async () => {
    const server = await openServer(50)
    await server.request(10)
    server.pages[0]?.complete()
    await eventually(async () => expect((await server.request(10)).decision).toBe('started'))
  })
})
