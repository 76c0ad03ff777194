import type { Cluster, Metadata, Offsets, WantedOffsets } from './kafkajs-parts.ts'

// kafkajs takes metadata as an error as long as any partition has no leader: one such partition then stops the readers
// and writers of all others. And its offsets of a topic are an error as long as any leader cannot be reached.

const NO_LEADER = -1
const NOT_CONNECTED = /^KafkaJSConnection(Closed)?Error$/
const NO_RESPONSE = /^KafkaJS(RequestTimeoutError|BrokerNotFound)$/
const OUT_OF_RETRIES = 'KafkaJSNumberOfRetriesExceeded'
const AGAIN_AFTER_MS = 500

type MetadataResponse = { parse(decoded: Metadata): Promise<Metadata> }

/** True for the error of a broker that cannot be connected to. */
export function isNotConnected(error: Error): boolean {
  const { name } = error.name === OUT_OF_RETRIES ? (error.cause as Error) : error
  return NOT_CONNECTED.test(name)
}

const isUnreachable = (error: Error) => isNotConnected(error) || NO_RESPONSE.test(error.name)

/** Rejects with the error of a topic, if any; those of partitions only say that a partition has no leader. */
export function metadataAsTheyAre(response: MetadataResponse): MetadataResponse {
  return {
    ...response,
    async parse(metadata) {
      const topicMetadata = metadata.topicMetadata.map((each) => ({ ...each, partitionMetadata: [] }))
      await response.parse({ ...metadata, topicMetadata })
      return metadata
    },
  }
}

type Options = {
  /** The offset of partitions without a leader that responds; they are left out unless given. */
  unknownOffset?: string
  /** The leaders that did not respond, which are not asked again; each is asked each time unless given. */
  unreachable?: Map<number | undefined, Error>
}

/**
 * Makes a client read the partitions that have a leader. Metadata are requested again, at most every 500 ms, until each
 * partition has one. A leader that does not respond delays the offsets of the others for the time limit of a connection
 * or a request; if none responds, that is an error.
 */
export function readLedPartitions(cluster: Cluster, { unknownOffset, unreachable }: Options): void {
  const refreshIfNecessary = cluster.refreshMetadataIfNecessary.bind(cluster)
  const fetchOffsets = cluster.fetchTopicsOffset.bind(cluster)
  let askedAt = -Infinity
  const topics = () => cluster.brokerPool.metadata?.topicMetadata ?? []
  const hasNoLeader = ({ leader }: { leader: number }) => leader === NO_LEADER

  function leaderOf(topic: string, partition: number): number | undefined {
    const partitions = topics().find((each) => each.topic === topic)?.partitionMetadata ?? []
    return partitions.find(({ partitionId }) => partitionId === partition)?.leader
  }

  cluster.refreshMetadataIfNecessary = async () => {
    const now = performance.now()
    const isDue = now - askedAt >= AGAIN_AFTER_MS
    if (isDue && topics().some(({ partitionMetadata }) => partitionMetadata.some(hasNoLeader))) {
      askedAt = now
      // Not awaited: the partitions that have a leader are fetched meanwhile, also if this fails.
      void cluster.refreshMetadata().catch(() => {})
    }
    await refreshIfNecessary()
  }

  cluster.fetchTopicsOffset = (wanted) => Promise.all(wanted.map(fetchKnown))

  async function fetchKnown(wanted: WantedOffsets): Promise<Offsets> {
    const { topic, fromBeginning } = wanted
    const failures: Error[] = []
    const byLeader = Map.groupBy(wanted.partitions, ({ partition }) => leaderOf(topic, partition))
    const requests = [...byLeader].map(async ([leader, partitions]) => {
      if (leader === NO_LEADER || unreachable?.has(leader)) return []
      try {
        return (await fetchOffsets([{ ...wanted, partitions }])).flatMap((found) => found.partitions)
      } catch (error) {
        // An admin of kafkajs expects the first offset of each partition whose end it has.
        const isNeeded = unreachable !== undefined && fromBeginning
        if (isNeeded || !isUnreachable(error as Error)) throw error
        unreachable?.set(leader, error as Error)
        failures.push(error as Error)
        return []
      }
    })
    const known = (await Promise.all(requests)).flat()
    if (known.length === 0 && failures[0] !== undefined) throw failures[0]
    if (unknownOffset === undefined) return { topic, partitions: known }
    const isUnknown = ({ partition }: { partition: number }) => !known.some((one) => one.partition === partition)
    const unknown = wanted.partitions.filter(isUnknown).map((one) => ({ ...one, offset: unknownOffset }))
    return { topic, partitions: [...known, ...unknown] }
  }
}
