import { delay, systemTime, within } from '../runtime/time.ts'
import { dropAll, isTimeOut, monotonicNow } from './connections.ts'
import type { Address, Attempt, Broker, Cluster } from './kafkajs-parts.ts'
import { isNotConnected } from './leaderless.ts'
import type { LookUpTopicId } from './topic-ids.ts'

/** The member of a group that one consumer has been and the next one becomes. */
export type Membership = { groupId?: string; memberId?: string | null }

/** The parts of a reader that its consumer needs. */
export type Reader = {
  /** Each fetch uses the id that this returns at that time, or the name while it returns none. */
  topicIdOf?: LookUpTopicId
  membership?: Membership
  /** Called at each fetch of an offset that the leader of a partition does not have: seek or pause it. */
  outOfRange?(partition: number): void
  /** Called before each fetch with the epoch of a partition's leader: another one may have another log. */
  ledBy?(partition: number, leaderEpoch: number | undefined): void
}

/** It has a topic and a partition if it is of one, and the address of a broker that could not be connected to. */
type FetchError = Error & { type?: string; topic?: string; partition?: number; broker?: string }

type PreferredReplicas = Record<string, Record<number, { nodeId: number }>>

type ErrorClass = new (message: string, address: Address) => Error

/** The part of kafkajs's ConsumerGroup that is used here. */
type ConsumerGroup = {
  groupId: string
  memberId: string | null
  /** Null before the first join. */
  generationId: number | null
  /** Empty without one. */
  rackId: string
  /** The time within which a broker answers a fetch, in ms. */
  maxWaitTime: number
  /** When it joined or sent the last heartbeat, by `monotonicNow`. */
  lastRequest: number
  coordinator: Broker
  /** Commits offsets, to the coordinator of the last join; null before the first one. */
  offsetManager: { coordinator: unknown } | null
  /** The replicas that the leaders have named to read from. */
  preferredReadReplicasPerTopicPartition: PreferredReplicas
  cluster: Cluster & { reader?: Reader }
  findReadReplicaForPartitions(topic: string, partitions: readonly number[]): Record<number, number[]>
  fetch(nodeId: string): Promise<unknown[]>
  recoverFromFetch(error: FetchError): Promise<void>
  joinAndSync(): Promise<void>
  heartbeat(options: { interval: number }): Promise<void>
  leave(): Promise<void>
}

/** Well below the session, after which the group expels the member in any case. */
const LEAVE_WITHIN_MS = 1_000
const COORDINATOR_OF_GROUP = 0
const NOT_COORDINATOR = 'NOT_COORDINATOR_FOR_GROUP'
const UNKNOWN_MEMBER = 'UNKNOWN_MEMBER_ID'
const OUT_OF_RANGE = 'KafkaJSOffsetOutOfRange'
/** Errors of a broker that does not lead a partition, or not for long; kafkajs joins the group again after most. */
const LED_ELSEWHERE = /LEADER|KAFKA_STORAGE|REPLICA_NOT|OFFSET_NOT/
const LEADERS_AGAIN_AFTER_MS = 100
/** kafkajs drops the broker then, and asks for the metadata again. */
const CLOSED = 'KafkaJSConnectionClosedError'
const CONNECT_AGAIN_AFTER_MS = 1_000
/** A broker that is later than this may be frozen. The metadata are requested as often. */
const LATE_MS = 500
/** As long as kafkajs reads from the replica that a leader has named. */
const RACK_AGAIN_AFTER_MS = 300_000

/**
 * kafkajs sends heartbeats to the coordinator that it found when it joined, and fetches nothing while one is late. When
 * that broker is frozen, no record is delivered for 25 s, until the retries are over. Here the fetches continue after
 * 0.5 s, and the coordinator is looked for again after the time-out of a heartbeat, or when it has left the cluster. A
 * group is left without the response of a frozen coordinator.
 *
 * kafkajs lets a change of the brokers take effect when all fetches have ended, after the time-out of a frozen broker.
 * Here a late fetch ends when its broker has left the cluster.
 *
 * A consumer of kafkajs joins as a new member. After a crash it would wait until the group has expelled the one that it
 * was before: for a session, which begins again when a broker becomes the coordinator.
 *
 * kafkajs fetches from the replica that the leader has named until the metadata expire, also when no broker has its id,
 * when it is no replica any more, or when it has less than the leader. Here the leader is asked again.
 *
 * kafkajs stops the fetches from all brokers, and then the consumer, when one broker cannot be connected to. Here only
 * the fetches from that one wait. If none can be, a heartbeat fails. If it is a replica of the rack, which each leader
 * would name again, the leaders are read for a while.
 *
 * kafkajs commits -2 when a leader does not have the offset to fetch, so the position of the group is lost, and fetches
 * from the first offset again and again where that is gone, too. Here the reader decides.
 */
export function groupsWithLiveBrokers(
  Original: new (options: object) => ConsumerGroup,
  { KafkaJSConnectionClosedError }: { KafkaJSConnectionClosedError: ErrorClass },
) {
  return class extends Original {
    leftRack = { id: '', againAtMs: Number.POSITIVE_INFINITY }
    /** A heartbeat that has no response yet, or has failed since the last call. */
    beating: Promise<void> | undefined

    /** Resolves after 0.5 s without a response. Rejects if the heartbeat before has failed since then. */
    override async heartbeat(options: { interval: number }): Promise<void> {
      // Expelled, and the next join failed: kafkajs would continue to fetch, and never join again.
      if (this.memberId === null) throw Object.assign(new Error('not a member of the group'), { type: UNKNOWN_MEMBER })
      // kafkajs calls this after each batch.
      if (this.beating === undefined && monotonicNow() < this.lastRequest + options.interval) return
      this.beating ??= this.beat(options)
      try {
        await within(LATE_MS, this.beating)
      } catch (error) {
        this.beating = undefined
        throw error
      }
    }

    async beat(options: { interval: number }): Promise<void> {
      // It would be connected to first, until the time-out.
      if (this.hasLeft(this.coordinator.nodeId)) await this.findCoordinator()
      const { coordinator } = this
      const { nodeId, connectionPool } = coordinator
      const endWatch = this.whenLeft(nodeId, LATE_MS, () =>
        dropAll(connectionPool, new KafkaJSConnectionClosedError('The broker has left the cluster', connectionPool)),
      )
      try {
        await super.heartbeat(options)
      } catch (error) {
        const { type } = error as { type?: string }
        // An error without a type is one of the connection.
        if (type !== undefined && type !== NOT_COORDINATOR) throw error
        await this.findCoordinator()
        if (this.coordinator === coordinator) throw error
      } finally {
        endWatch()
      }
      this.beating = undefined
    }

    /** Never rejects: kafkajs would take that for an error that ends the consumer. */
    async findCoordinator(): Promise<void> {
      const { groupId, cluster } = this
      try {
        const found = await cluster.findGroupCoordinatorMetadata({ groupId, coordinatorType: COORDINATOR_OF_GROUP })
        // The same one, which may be frozen, is not connected to here: that would take until the time-out.
        if (cluster.brokerPool.brokers[found.coordinator.nodeId] === this.coordinator) return
        this.coordinator = await cluster.findGroupCoordinator({ groupId })
        if (this.offsetManager !== null) this.offsetManager.coordinator = this.coordinator
      } catch {
        // The next heartbeat looks for it again.
      }
    }

    override async fetch(nodeId: string): Promise<unknown[]> {
      const left = Promise.withResolvers<unknown[]>()
      const endWatch = this.whenLeft(nodeId, this.maxWaitTime + LATE_MS, () => left.resolve([]))
      try {
        return await Promise.race([super.fetch(nodeId), left.promise])
      } finally {
        endWatch()
      }
    }

    override async joinAndSync(): Promise<void> {
      const { groupId, cluster, generationId } = this
      const { membership = {} } = cluster.reader ?? {}
      // Only before the first join: a later one without an id follows an expulsion.
      if (generationId === null && membership.groupId === groupId) this.memberId = membership.memberId ?? null
      this.beating = undefined
      try {
        await super.joinAndSync()
      } finally {
        // Kafka may have made it a member although it was not assigned partitions.
        Object.assign(membership, { groupId, memberId: this.memberId })
      }
    }

    override findReadReplicaForPartitions(topic: string, partitions: readonly number[]) {
      const { cluster } = this
      const preferred = this.preferredReadReplicasPerTopicPartition[topic] ?? {}
      for (const { partitionId, leaderEpoch, offlineReplicas } of cluster.findTopicPartitionMetadata(topic)) {
        cluster.reader?.ledBy?.(partitionId, leaderEpoch)
        const nodeId = preferred[partitionId]?.nodeId
        if (nodeId === undefined || (!this.hasLeft(nodeId) && !offlineReplicas.includes(nodeId))) continue
        delete preferred[partitionId]
        // The replica may be back since the last metadata. A leader that names it responds without records.
        cluster.brokerPool.metadataExpireAt = null
      }
      if (performance.now() >= this.leftRack.againAtMs) this.rackId = this.leftRack.id
      return super.findReadReplicaForPartitions(topic, partitions)
    }

    override async recoverFromFetch(error: FetchError): Promise<void> {
      const { topic = '', partition = -1 } = error
      const preferred = this.preferredReadReplicasPerTopicPartition
      // An error may be of any replica. The leaders name theirs again.
      this.preferredReadReplicasPerTopicPartition = {}
      const isElsewhere = LED_ELSEWHERE.test(error.type ?? '')
      if (isElsewhere || (error.name !== CLOSED && (isNotConnected(error) || isTimeOut(error)))) {
        this.cluster.brokerPool.metadataExpireAt = null
        if (this.rackId !== '' && isOfOne(preferred, error, this.cluster)) {
          this.leftRack = { id: this.rackId, againAtMs: performance.now() + RACK_AGAIN_AFTER_MS }
          this.rackId = ''
        }
        return delay(systemTime, isElsewhere ? LEADERS_AGAIN_AFTER_MS : CONNECT_AGAIN_AFTER_MS)
      }
      if (error.name !== OUT_OF_RANGE) await super.recoverFromFetch(error)
      else if (preferred[topic]?.[partition] === undefined) this.cluster.reader?.outOfRange?.(partition)
    }

    hasLeft(nodeId: string | number | null): boolean {
      return !this.cluster.getNodeIds().includes(String(nodeId))
    }

    /** Calls back when the broker is late and has left the cluster. Call the result when it has responded. */
    whenLeft(nodeId: string | number | null, lateMs: number, callBack: () => void): () => void {
      const lateAt = performance.now() + lateMs
      const check = async () => {
        await this.cluster.refreshMetadata().catch(() => {})
        if (this.hasLeft(nodeId)) callBack()
      }
      const watch = setInterval(() => {
        if (performance.now() >= lateAt) void check()
      }, LATE_MS)
      return () => clearInterval(watch)
    }

    override leave(): Promise<void> {
      return within(LEAVE_WITHIN_MS, super.leave())
    }
  }
}

/** True for a failed connection of one of these replicas. */
function isOfOne(
  replicas: PreferredReplicas,
  { broker, cause }: FetchError,
  { brokerPool }: ConsumerGroup['cluster'],
): boolean {
  const address = broker ?? (cause as { broker?: string } | undefined)?.broker
  const nodeId = brokerPool.metadata?.brokers.find(({ host, port }) => `${host}:${port}` === address)?.nodeId
  return Object.values(replicas).some((each) => Object.values(each).some((replica) => replica.nodeId === nodeId))
}

type Runner = {
  running: boolean
  fetchManager: { stop(): Promise<void> }
  retrier(attempt: Attempt<void>): Promise<void>
  scheduleFetchManager(): void
  fetch(nodeId: string): Promise<unknown[]>
}

/** Longer than the requests of a fetch take to fail. */
const UNRELATED_AFTER_MS = 60_000

/**
 * kafkajs counts the errors of fetches from one join of the group to the next, which may be weeks, and crashes with the
 * sixth one. Here an error after a minute of fetching has nothing to do with former ones: the count and the waits begin
 * again.
 *
 * kafkajs makes new fetchers when the brokers change, also while the consumer is being stopped. They would then fetch
 * nothing again and again, without a turn of the event loop: the process would do nothing else until it is killed. Here
 * they end.
 */
export function correctedRunners(Original: new (options: object) => Runner) {
  return class extends Original {
    override scheduleFetchManager(): void {
      const { retrier } = this
      // kafkajs schedules the fetches again when an attempt ends without an error.
      this.retrier = (attempt) => retrier((...retry) => withoutLateErrors(() => attempt(...retry)))
      super.scheduleFetchManager()
      this.retrier = retrier
    }

    override fetch(nodeId: string): Promise<unknown[]> {
      if (!this.running) void this.fetchManager.stop()
      return super.fetch(nodeId)
    }
  }
}

async function withoutLateErrors(fetch: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  try {
    await fetch()
  } catch (error) {
    const { retriable } = error as { retriable?: boolean }
    if (retriable !== true || performance.now() - startedAt < UNRELATED_AFTER_MS) throw error
  }
}
