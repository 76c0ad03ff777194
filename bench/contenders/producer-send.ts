import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import type { OpenStore } from './store.ts'

/** One `producer.send` for each request: the obvious first version. Two creates of one id are acknowledged. */
export const openProducerSend: OpenStore = async ({ kafkaBrokers = '', topic = '', partitions }) => {
  const kafka = new Kafka({ brokers: kafkaBrokers.split(','), logLevel: logLevel.ERROR })
  const { DefaultPartitioner } = Partitioners
  const producer = kafka.producer({ allowAutoTopicCreation: false, createPartitioner: DefaultPartitioner })
  await producer.connect()
  return {
    async create({ plant, eventId }) {
      const [sent] = await producer.send({ topic, messages: [plantCreated(plant, eventId, Number(partitions))] })
      if (sent?.baseOffset === undefined) throw new Error('the broker acknowledged without an offset')
      return { is: 'created', partition: sent.partition as Partition, offset: offsetOf(sent.baseOffset) }
    },
  }
}
