import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import type { Log } from '../runtime/log.ts'

/** Names for groups that are joined once, each under a prefix, and their end. */
export function createThrowawayGroups(kafka: Kafka, prefix: string, log: Log) {
  const groups: string[] = []

  return {
    groupId(): string {
      const group = `${prefix}-${randomUUID()}`
      groups.push(group)
      return group
    },

    /** Deletes all groups, after their consumers have ended. Kafka would forget them by itself, after days. */
    async forget(): Promise<void> {
      if (groups.length === 0) return
      const admin = kafka.admin()
      try {
        await admin.connect()
        await admin.deleteGroups(groups.splice(0))
      } catch (err) {
        log.debug({ err }, 'a group was not deleted; Kafka forgets it by itself')
      } finally {
        await admin.disconnect().catch(() => {})
      }
    },
  }
}
