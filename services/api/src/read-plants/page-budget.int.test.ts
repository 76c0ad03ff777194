import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createPagesUnderWay } from './page-budget.ts'

/** More than the buffers of a connection hold. */
const PAGE = 'x'.repeat(20_000_000)
const LONG_MS = 60_000

/** A server of pages that are made when the test says so, with room for 10 plants. */
async function openServer(takenWithinMs = LONG_MS) {
  const pages = createPagesUnderWay({ maxPlants: 10, takenWithinMs })
  const making: { answer(): void; fail(): void }[] = []
  const answers: string[] = []
  const server = createServer((request, response) => {
    const page = pages.make(Number(request.url?.slice(1)), response, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      making.push({ answer: () => resolve(PAGE), fail: () => reject(new Error('no page')) })
      return promise
    })
    answers.push(page === undefined ? 'refused' : 'made')
    if (page === undefined) response.end()
    page?.then(
      (text) => response.end(text),
      () => response.end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })

  return {
    making,
    /** Asks on a connection of its own, and takes nothing of the answer. */
    async ask(limit: number): Promise<{ socket: Socket; answer: string | undefined }> {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('error', () => undefined).pause()
      const asked = answers.length
      socket.write(`GET /${limit} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await vi.waitFor(() => expect(answers).toHaveLength(asked + 1))
      return { socket, answer: answers.at(-1) }
    },
  }
}

describe('pages under way', () => {
  it('have so many plants together and no more', async () => {
    const server = await openServer()
    expect((await server.ask(6)).answer).toBe('made')
    expect((await server.ask(5)).answer).toBe('refused')
    expect((await server.ask(4)).answer).toBe('made')
    expect((await server.ask(1)).answer).toBe('refused')
  })

  it('are those that are being made, also when their client has left', async () => {
    const server = await openServer()
    const { socket } = await server.ask(10)
    socket.resetAndDestroy()
    expect((await server.ask(1)).answer).toBe('refused')
    server.making[0]?.answer()
    await vi.waitFor(async () => expect((await server.ask(10)).answer).toBe('made'))
  })

  it('are those, too, that their clients have not taken', async () => {
    const server = await openServer()
    const { socket } = await server.ask(10)
    server.making[0]?.answer()
    expect((await server.ask(1)).answer).toBe('refused')
    socket.resume()
    await vi.waitFor(async () => expect((await server.ask(10)).answer).toBe('made'))
  })

  it('are not those that could not be made', async () => {
    const server = await openServer()
    await server.ask(10)
    server.making[0]?.fail()
    await vi.waitFor(async () => expect((await server.ask(10)).answer).toBe('made'))
  })

  it('are cut off when they are not taken in time', async () => {
    const server = await openServer(50)
    await server.ask(10)
    server.making[0]?.answer()
    await vi.waitFor(async () => expect((await server.ask(10)).answer).toBe('made'))
  })
})
