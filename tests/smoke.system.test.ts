import { expect, inject, it } from 'vitest'
import { createPlantStore, TOKEN } from './support/plant-store.ts'

it('smoke', async () => {
  const store = await createPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  const t0 = Date.now()
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  console.log('ready', Date.now() - t0)
  const post = (body: string) => fetch(`${api.url}/plants`, { method: 'POST', body, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' } })
  for (let i = 0; i < 5; i++) {
    const t = performance.now()
    const r = await post(`{"id":900719925474099${i},"name":"Fern","tag":"x"}`)
    console.log(r.status, await r.text(), Object.fromEntries(r.headers), performance.now() - t)
  }
  const d = await post('{"id":9007199254740991,"name":"Fern"}')
  console.log(d.status, await d.text())
  const g = await fetch(`${api.url}/plants/9007199254740993`, { headers: { authorization: `Bearer ${TOKEN}` } })
  console.log(g.status, await g.text())
  const n = await fetch(`${api.url}/plants/12`, { headers: { authorization: `Bearer ${TOKEN}` } })
  console.log(n.status, await n.text())
  console.log(await (await fetch(`${api.opsUrl}/readyz`)).text())
  expect(1).toBe(1)
  const fs = await import('node:fs')
  console.log(fs.readFileSync(api.logFile, 'utf8'))
})
