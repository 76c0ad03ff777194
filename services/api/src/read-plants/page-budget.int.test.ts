import { createServer } from 'node:http'
import { connect } from 'node:net'
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

  /** Requests a page on a separate connection, by default of a new caller, and does not read the response. */
  async function request(limit: number, caller = `caller-${++callers}`) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined).pause()
    const before = decisions.length
    socket.write(`GET /${caller}/${limit} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await eventually(() => expect(decisions).toHaveLength(before + 1))
    return { socket, decision: decisions.at(-1) }
  }
  const decisionsOf = (limits: number[], caller?: string) =>
    Array.fromAsync(limits, async (limit) => (await request(limit, caller)).decision)
  return { pages, request, decisionsOf }
}

describe('the page budget', () => {
  it('refuses a page that would exceed the most plants in flight', async () => {
    const { decisionsOf } = await openServer()
    expect(await decisionsOf([6, 5, 4, 1])).toEqual(['started', 'refused', 'started', 'refused'])
  })

  it('leaves room for others: a caller has one page, and more up to half of what others leave', async () => {
    const { decisionsOf, pages } = await openServer()
    expect(await decisionsOf([3, 2, 1], 'greedy')).toEqual(['started', 'started', 'refused'])
    expect(await decisionsOf([1, 1, 1], 'second')).toEqual(['started', 'started', 'refused'])
    expect(await decisionsOf([3, 1], 'third')).toEqual(['started', 'refused'])
    for (const { fail } of pages) fail()
    await eventually(async () => expect(await decisionsOf([10], 'greedy')).toEqual(['started']))
  })

  it('counts a page until it is complete, also when its client has left', async () => {
    const { request, decisionsOf, pages } = await openServer()
    ;(await request(10)).socket.resetAndDestroy()
    expect(await decisionsOf([1])).toEqual(['refused'])
    pages[0]?.complete()
    await eventually(async () => expect(await decisionsOf([10])).toEqual(['started']))
  })

  it('counts a complete page until its client has read it', async () => {
    const { request, decisionsOf, pages } = await openServer()
    const { socket } = await request(10)
    pages[0]?.complete()
    expect(await decisionsOf([1])).toEqual(['refused'])
    socket.resume()
    await eventually(async () => expect(await decisionsOf([10])).toEqual(['started']))
  })

  it('closes the connection of a client that does not read its page in time', async () => {
    const { request, decisionsOf, pages } = await openServer(50)
    await request(10)
    pages[0]?.complete()
    await eventually(async () => expect(await decisionsOf([10])).toEqual(['started']))
  })
})
