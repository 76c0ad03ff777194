import type { Admin, Kafka } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import type { Partition } from '../plant/position.ts'
import { withAdmin } from './admin.ts'

/** One process in a group, and what the group gave it to read. */
export type Member = { clientId: string; host: string; partitions: Partition[] }

/** Those who read a topic: its projectors share one group, each other reader has a group of its own. */
export type Readers = {
  /** Kafka's word for how the projectors' group is: Stable, PreparingRebalance, CompletingRebalance, Empty, Dead. */
  projectorState: string
  projectors: Member[]
  apis: Member[]
  replays: Member[]
  rebuilds: Member[]
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Groups that nobody is in any more stay for some minutes. */
const MAX_GROUPS_DESCRIBED = 1_000

/** The group in which projectors share the partitions. */
export const projectorGroup = (topic: string) => `${topic}-projector`

/** What the groups of all other readers begin with; each reader has one of its own. */
export const groupPrefix = (topic: string, reader: 'tail' | 'replay' | 'rebuild') => `${topic}-${reader}`

/** Whether the service's own readers of this topic use such a group: another member would take partitions from them. */
export function isServiceGroup(groupId: string, topic: string): boolean {
  const prefixes = (['tail', 'replay', 'rebuild'] as const).map((reader) => `${groupPrefix(topic, reader)}-`)
  return groupId === projectorGroup(topic) || prefixes.some((prefix) => groupId.startsWith(prefix))
}

/** Asks who reads the topic now. */
export async function readReaders(kafka: Kafka, topic: string): Promise<Readers> {
  return withAdmin(kafka, async (admin) => {
    const { groups } = await admin.listGroups()
    const membersOf = async (reader: Parameters<typeof groupPrefix>[1]) => {
      const prefix = `${groupPrefix(topic, reader)}-`
      const names = groups
        .map(({ groupId }) => groupId)
        .filter((name) => name.startsWith(prefix) && UUID.test(name.slice(prefix.length)))
      const found = await describe(admin, names.slice(0, MAX_GROUPS_DESCRIBED), topic)
      return found.flatMap(({ members }) => members)
    }
    const [projectors] = await describe(admin, [projectorGroup(topic)], topic)
    return {
      projectorState: projectors?.state ?? 'Dead',
      projectors: projectors?.members ?? [],
      apis: await membersOf('tail'),
      replays: await membersOf('replay'),
      rebuilds: await membersOf('rebuild'),
    }
  })
}

async function describe(admin: Admin, names: string[], topic: string) {
  if (names.length === 0) return []
  const { groups } = await admin.describeGroups(names)
  return groups.map(({ state, members }) => ({
    state: state as string,
    members: members.map(({ clientId, clientHost, memberAssignment }): Member => {
      // Nothing is given out yet while the group is being joined.
      const given = memberAssignment.length === 0 ? null : decodeAssignment(memberAssignment)
      const partitions = [...(given?.assignment[topic] ?? [])].sort((a, b) => a - b) as Partition[]
      return { clientId, host: clientHost.replace(/^\//, ''), partitions }
    }),
  }))
}

const decodeAssignment = kafkajs.AssignerProtocol.MemberAssignment.decode
