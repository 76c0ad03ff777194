import type { Admin, Kafka, PartitionMetadata } from 'kafkajs'
import type { ExtendedAdmin } from '../kafka-client/kafkajs.ts'
import { isTopicHidden, type Operation, Refused } from './broker-errors.ts'

/** The bits of the authorized operations of a topic; see AclOperation of Kafka. */
const BITS: Record<Operation, number> = {
  ...{ Read: 3, Write: 4, Create: 5, Delete: 6, Describe: 8, DescribeConfigs: 10, AlterConfigs: 11 },
}
const ALL = -1

/** Throws a Refused that names the operations on the topic that this user lacks. */
export async function checkRights(admin: Admin, topic: string, needed: readonly Operation[]): Promise<void> {
  const granted = await readGranted(admin, topic)
  if (granted === undefined) {
    throw new Refused(`Kafka does not show topic ${topic} to this user: it needs ${needed.join(' and ')}`)
  }
  const missing = needed.filter((operation) => (granted & (1 << BITS[operation])) === 0)
  if (missing.length === 0) return
  throw new Refused(`Kafka refuses this user ${missing.join(' and ')} on topic ${topic}: add the ACL`)
}

/** The authorized operations; undefined when the user may not even describe the topic. */
async function readGranted(admin: Admin, topic: string): Promise<number | undefined> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const [first] = (topics[0]?.partitions ?? []) as (PartitionMetadata & { topicOperations?: number })[]
    const granted = first?.topicOperations ?? 0
    // A user that gets the metadata may describe the topic. Without this bit the broker reports no operations, such as
    // a broker before Kafka 2.8.
    return (granted & (1 << BITS.Describe)) === 0 ? ALL : granted
  } catch (error) {
    if (isTopicHidden(error)) return undefined
    throw error
  }
}

/** Checks the rights again and again on one connection, which `close` ends. */
export function createRightsCheck(kafka: Kafka, topic: string, needed: readonly Operation[]) {
  let admin: ExtendedAdmin | undefined

  async function close(): Promise<void> {
    const used = admin
    admin = undefined
    await used?.disconnect()
  }

  return {
    /** Rejects as `checkRights`, and with another error when Kafka does not respond. */
    async check(): Promise<void> {
      try {
        if (admin === undefined) {
          admin = kafka.admin() as ExtendedAdmin
          await admin.connect()
        }
        await checkRights(admin, topic, needed)
      } catch (error) {
        await close().catch(() => {})
        throw error
      }
    },

    close,
  }
}
