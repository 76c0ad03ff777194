import type { Cluster, ProducerIdentity } from './kafkajs-parts.ts'

const TRANSACTION_COORDINATOR = 1

/** The requests of producers with an identity, on one topic. Each makes one attempt. */
export type Transactions = ReturnType<typeof createTransactions>

/** The transactions of kafkajs cannot end without a record. */
export function createTransactions(cluster: Cluster, topic: string) {
  const coordinatorOf = (groupId: string) =>
    cluster.findGroupCoordinator({ groupId, coordinatorType: TRANSACTION_COORDINATOR })

  return {
    /** With a transactional id it ends the former one: its transaction is aborted, later requests are refused. */
    async identify(transactionTimeout: number, transactionalId?: string): Promise<ProducerIdentity> {
      const broker = await (transactionalId === undefined
        ? cluster.findControllerBroker()
        : coordinatorOf(transactionalId))
      return broker.initProducerId({ ...(transactionalId !== undefined && { transactionalId }), transactionTimeout })
    },

    /** Begins a transaction that ends with one control record in this partition, whatever else it writes. */
    async begin(transactionalId: string, identity: ProducerIdentity, partition: number): Promise<void> {
      const topics = [{ topic, partitions: [partition] }]
      await (await coordinatorOf(transactionalId)).addPartitionsToTxn({ transactionalId, ...identity, topics })
    },

    /** Aborts the transaction. Its control record may be written later. */
    async abort(transactionalId: string, identity: ProducerIdentity): Promise<void> {
      await (await coordinatorOf(transactionalId)).endTxn({ transactionalId, ...identity, transactionResult: false })
    },

    /** The offset up to which the records of a partition are final: no open transaction precedes it. */
    async stableEnd(partition: number): Promise<string | undefined> {
      const [found] = await cluster.fetchTopicsOffset([{ topic, partitions: [{ partition }] }])
      return found?.partitions[0]?.offset
    },
  }
}
