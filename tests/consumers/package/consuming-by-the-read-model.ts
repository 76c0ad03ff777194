import { consumePlants, type PlantCreated } from '@plant-store/shared/consumer'
import { inReadModel } from '@plant-store/shared/consumer/read-model'

// The same, with the first claims in the service's read model.

const [broker = '', topic = '', redisUrl = '', count = ''] = process.argv.slice(2)

const plants: PlantCreated[] = []
const consumer = await consumePlants({
  brokers: [broker],
  topic,
  groupId: `${topic}-by-the-read-model`,
  firstClaims: inReadModel({ redisUrl }),
  onPlantCreated(event) {
    plants.push(event)
    if (plants.length === Number(count)) queueMicrotask(() => void consumer.stop())
  },
})
await consumer.ended
console.log(JSON.stringify(plants.map(({ id, name, tag }) => ({ id: String(id), name, tag }))))
