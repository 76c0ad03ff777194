import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { quietLog } from './quiet-log.ts'

const PATIENCE = { everyMs: 200, giveUpAfterMs: 60_000 }

/**
 * Waits until each broker of this cluster, which has no others, knows all of them. A broker accepts connections before
 * another one may know it: a topic that is created then has fewer replicas.
 */
export async function untilBrokersAreKnown(brokers: string): Promise<void> {
  const addresses = brokers.split(',')
  await retry(async () => {
    for (const address of addresses) {
      const kafka = createKafka([address], 'test-admin', quietLog)
      const { brokers: known } = await withAdmin(kafka, (admin) => admin.describeCluster())
      if (known.length < addresses.length) throw new Error(`${address} knows ${known.length} brokers`)
    }
  }, PATIENCE)
}
