import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openOperationsPort } from './operations.ts'

async function openPort(readiness: () => string[] = () => []) {
  const { port, close } = await openOperationsPort(0, '127.0.0.1', readiness)
  onTestFinished(close)
  return { port, close, url: `http://127.0.0.1:${port}` }
}

describe('the operations port', () => {
  it('tells that the process lives, ready or not', async () => {
    const { url } = await openPort(() => ['kafka: away'])
    const answer = await fetch(`${url}/livez`)
    expect([answer.status, await answer.json()]).toEqual([200, { live: true }])
  })

  it('tells whether it is ready, anew each time, and if not, why', async () => {
    const reasons = ['kafka: away', 'redis: away']
    const { url } = await openPort(() => reasons)
    const before = await fetch(`${url}/readyz`)
    expect([before.status, await before.json()]).toEqual([
      503,
      { ready: false, reasons: ['kafka: away', 'redis: away'] },
    ])
    reasons.length = 0
    const after = await fetch(`${url}/readyz?verbose`)
    expect([after.status, await after.json()]).toEqual([200, { ready: true, reasons: [] }])
  })

  it('has nothing else, and says so in the shape of every error', async () => {
    const { url } = await openPort()
    for (const path of ['/', '/readyz/', '/livezz', '/plants', '//', '/%']) {
      const answer = await fetch(`${url}${path}`)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toEqual({ error: expect.any(Number), message: expect.any(String) })
    }
  })

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('is only read: not %s', async (method) => {
    const { url } = await openPort()
    const answer = await fetch(`${url}/livez`, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('answers HEAD without a body', async () => {
    const { url } = await openPort(() => ['kafka: away'])
    const answer = await fetch(`${url}/readyz`, { method: 'HEAD' })
    expect([answer.status, await answer.text()]).toEqual([503, ''])
  })

  it('is not opened where another process listens', async () => {
    const { port } = await openPort()
    await expect(openOperationsPort(port, '127.0.0.1', () => [])).rejects.toThrow(/EADDRINUSE/)
  })

  it('closes although a connection is kept open', async () => {
    const { port, close, url } = await openPort()
    const kept = request({ port, host: '127.0.0.1', path: '/livez', headers: { expect: '100-continue' } })
    kept.on('error', () => {})
    kept.flushHeaders()
    await fetch(`${url}/livez`)
    await close()
    await expect(fetch(`${url}/livez`)).rejects.toThrow()
  })
})
