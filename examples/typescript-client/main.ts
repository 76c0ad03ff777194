import { randomInt, randomUUID } from 'node:crypto'

// node main.ts openapi-fetch|hey-api [ID…], with BASE_URL and TOKEN: creates plants, each twice, reads and lists them.

const [generator = 'openapi-fetch', ...given] = process.argv.slice(2)
const { create, list, read } = (await import(`./with-${generator}.ts`)) as typeof import('./with-openapi-fetch.ts')

/** By default, odd ids beyond 2^53: a number would be another one. */
const random = () => 2n ** 53n + 2n * BigInt(randomInt(2 ** 40)) + 1n
const ids = given.length === 0 ? Array.from({ length: 3 }, random) : given.map(BigInt)
const positions: string[] = []
for (const id of ids) {
  // A program keeps the key until the create has a result: with the same key, it is the same create.
  const key = randomUUID()
  const plant = { id, name: `plant ${id}` }
  const position = await create(plant, key)
  console.log(`created ${id}, again: ${(await create(plant, key)) === position ? 'the same' : 'another'}`)
  positions.push(position)
}
const position = positions.join()
for (const id of ids) console.log(`read ${id}: ${await read(id, position)}`)
for await (const { id, name } of list(position)) if (ids.includes(id)) console.log(`listed ${id}: ${name}`)
