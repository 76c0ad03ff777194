import type { Consumer } from 'kafkajs'
import type { FetchedPartition } from './fetch-v13.ts'
import type { TopicId } from './topic-id.ts'

type TopicIdOf = (topic: string) => TopicId | undefined

/** A consumer of kafkajs that can be told which topic its fetches are to ask for. */
export type ConsumerById = Consumer & {
  /** Has each fetch from now on ask for a topic by the id that is known then, or by its name when none is. */
  fetchBy(topicIdOf: TopicIdOf): void
}

type Fetching = { topics: readonly { topic: string; partitions: readonly FetchedPartition[] }[] }
type Broker = { fetch(options: Fetching): Promise<unknown> }
/** What is used here of what kafkajs makes a consumer from: the brokers that it asks are its own. */
type ConsumerParts = { cluster: { brokerPool: { createBroker(options: object): Broker } } }

/** kafkajs's factory of consumers, with ids: what a broker is to be asked for passes it by on its way to the request. */
export function consumersById(createConsumer: (parts: ConsumerParts) => Consumer) {
  return (parts: ConsumerParts): ConsumerById => {
    let topicIdOf: TopicIdOf = () => undefined
    const { brokerPool } = parts.cluster
    const { createBroker } = brokerPool
    const identified = ({ topic, partitions }: Fetching['topics'][number]) => ({
      topic,
      partitions: partitions.map((partition) => ({ ...partition, topicId: topicIdOf(topic) })),
    })
    brokerPool.createBroker = (options) => {
      const broker = createBroker(options)
      const fetch = broker.fetch.bind(broker)
      broker.fetch = (asked) => fetch({ ...asked, topics: asked.topics.map(identified) })
      return broker
    }
    return {
      ...createConsumer(parts),
      fetchBy(ids) {
        topicIdOf = ids
      },
    }
  }
}
