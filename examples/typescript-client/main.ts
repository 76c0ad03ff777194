import { randomInt, randomUUID } from 'node:crypto'
import { create, list, read } from './client.ts'

// node main.ts [ID…], with BASE_URL and TOKEN: creates plants, each twice, reads and lists them.

/** By default, odd ids beyond 2^53: a number would be another one. */
const random = () => 2n ** 53n + 2n * BigInt(randomInt(2 ** 40)) + 1n
const given = process.argv.slice(2).map(BigInt)
const ids = given.length > 0 ? given : [random(), random(), random()]
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
