import { delay, systemTime } from '../runtime/time.ts'

/** The part of kafkajs's ConsumerGroup that is used here. */
type ConsumerGroup = {
  groupId: string
  coordinator: unknown
  /** Commits offsets, to the coordinator of the last join; null before the first one. */
  offsetManager: { coordinator: unknown } | null
  cluster: { findGroupCoordinator(wanted: { groupId: string }): Promise<unknown> }
  heartbeat(options: { interval: number }): Promise<void>
  leave(): Promise<void>
}

/** Well below the session, after which the group expels the member in any case. */
const LEAVE_WITHIN_MS = 1_000
const NOT_COORDINATOR = 'NOT_COORDINATOR_FOR_GROUP'

/**
 * kafkajs sends heartbeats to the coordinator that it found when it joined. When that broker is frozen, each heartbeat
 * takes a request time-out, and no record is delivered meanwhile: for 25 s, until the retries are over. Here the
 * coordinator is looked for again after the first one. A group is left without the response of a frozen coordinator.
 */
export function groupsWithLiveCoordinator(Original: new (options: object) => ConsumerGroup) {
  return class extends Original {
    override async heartbeat(options: { interval: number }): Promise<void> {
      try {
        await super.heartbeat(options)
      } catch (error) {
        const { type } = error as { type?: string }
        // An error without a type is one of the connection.
        if (type === undefined || type === NOT_COORDINATOR) {
          this.coordinator = await this.cluster.findGroupCoordinator({ groupId: this.groupId })
          if (this.offsetManager !== null) this.offsetManager.coordinator = this.coordinator
        }
        throw error
      }
    }

    override async leave(): Promise<void> {
      const timer = new AbortController()
      try {
        await Promise.race([super.leave(), delay(systemTime, LEAVE_WITHIN_MS, timer.signal)])
      } finally {
        timer.abort()
      }
    }
  }
}
