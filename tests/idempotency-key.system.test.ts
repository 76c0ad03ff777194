import { expect, inject, it } from 'vitest'
import { send } from './support/client.ts'
import { createPlantStore } from './support/plant-store.ts'

it('an Idempotency-Key is the same with and without quotes, and any other form is rejected', async () => {
  const store = await createPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  // Node sends a header with several values as several fields.
  const create = (id: number, key: string | string[]) =>
    send(`${api.url}/plants`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key as string },
      body: `{"id":${id},"name":"Fern"}`,
    })

  for (const [id, bare, quoted] of [
    [1, 'key-1', '"key-1"'],
    [2, 'a\\b', '"a\\\\b"'],
    [3, '"\\"with spaces\\" "', '"\\"with spaces\\" "'],
  ] as const) {
    for (const key of [bare, quoted, bare]) expect(await create(id, key)).toMatchObject({ status: 200 })
    expect(await create(id, 'another')).toMatchObject({ status: 400, body: { error: 40003 } })
  }
  for (const key of ['', '""', '"a', 'a b', '"a";p=1', '"a\\b"', 'ä', 'x'.repeat(256), ['a', 'b'], ['"a"', '"a"']])
    expect(await create(4, key)).toMatchObject({ status: 400, body: { error: 40005 } })
})
