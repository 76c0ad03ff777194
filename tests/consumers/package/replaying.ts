import { inFile, inMemory, PlantConsumerError, type PlantCreated, replayPlants } from '@plant-store/shared/consumer'
import kafkajs from 'kafkajs'

// An application of another team. The test compiles and runs it outside of this repository, with the package alone.

const [brokers = '', topic = ''] = process.argv.slice(2)

const plants = new Map<bigint, PlantCreated>()
const summary = await replayPlants({
  brokers: [brokers],
  topic,
  onPlantCreated: (event) => {
    plants.set(event.id, event)
  },
})
const refusal: unknown = await replayPlants({ brokers: [], onPlantsCreated() {} }).catch((error: unknown) => error)

// The application has a separate, uncorrected kafkajs, which works alongside the kafkajs of the package.
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
const admin = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).admin()
await admin.connect()
const offsets = await admin.fetchTopicOffsets(topic)
await admin.disconnect()
let hasZstd = true
try {
  CompressionCodecs[CompressionTypes.ZSTD]()
} catch {
  hasZstd = false
}

const result = {
  plants: [...plants.values()].map(({ id, name, tag }) => ({ id: String(id), name, tag })),
  ends: Object.fromEntries(summary.positions),
  voids: summary.voids,
  code: refusal instanceof PlantConsumerError ? refusal.code : undefined,
  kinds: [inMemory({ maxMib: 64 }), inFile('first-claims.db')].map(({ open }) => typeof open),
  own: { ends: Object.fromEntries(offsets.map(({ partition, high }) => [partition, Number(high)])), hasZstd },
}
console.log(JSON.stringify(result))
