import { consumePlants, inFile, type PlantCreated } from '@plant-store/shared/consumer'

// An application of another team. The test compiles and runs it outside of this repository, with the package alone.

const [broker = '', topic = '', count = ''] = process.argv.slice(2)

const plants: PlantCreated[] = []
const consumer = await consumePlants({
  brokers: [broker],
  topic,
  groupId: `${topic}-elsewhere`,
  firstClaims: inFile('first-claims.db'),
  // As a caller passes on options that it may lack.
  ...{ signal: undefined, from: undefined, log: undefined, onDeadLetter: undefined },
  async onPlantsCreated(events, { signal }) {
    signal.throwIfAborted()
    plants.push(...events)
    if (plants.length === Number(count)) queueMicrotask(() => void consumer.stop())
  },
})
await consumer.ended
console.log(JSON.stringify(plants.map(({ id, name, tag }) => ({ id: String(id), name, tag }))))
