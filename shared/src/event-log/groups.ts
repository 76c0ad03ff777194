import { randomUUID } from 'node:crypto'
import type { Admin, Kafka } from 'kafkajs'
import type { Partition } from '../plant/offset.ts'
import { withAdmin } from './admin.ts'
import { kafkajs } from './kafkajs.ts'

/** One process in a group, and what the group gave it to read. */
export type Member = { clientId: string; host: string; partitions: Partition[] }

/** Those who read a topic: its projectors share one group, each other reader has a group of its own. */
export type Readers = {
  /** Kafka's word for how the projectors' group is: Stable, PreparingRebalance, CompletingRebalance, Empty, Dead. */
  projectorState: string
  projectors: Member[]
  apis: Member[]
  replays: Member[]
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Groups that nobody is in any more stay for some minutes. */
const MAX_GROUPS_DESCRIBED = 1_000

/** The group in which projectors share the partitions. */
export const projectorGroup = (topic: string) => `${topic}-projector`
/** A group for one consumer of an api. */
export const freshTailGroup = (topic: string) => `${topicsTails(topic)}${randomUUID()}`
/** A group for one consumer of a replay. */
export const freshReplayGroup = (topic: string) => `${topicsReplays(topic)}${randomUUID()}`

const topicsTails = (topic: string) => `${topic}-tail-`
const topicsReplays = (topic: string) => `${topic}-replay-`

/** Asks who reads the topic now. */
export async function readReaders(kafka: Kafka, topic: string): Promise<Readers> {
  return withAdmin(kafka, async (admin) => {
    const { groups } = await admin.listGroups()
    const named = (prefix: string) =>
      groups
        .map(({ groupId }) => groupId)
        .filter((name) => name.startsWith(prefix) && UUID.test(name.slice(prefix.length)))
    const [projectors] = await describe(admin, [projectorGroup(topic)], topic)
    const membersOf = async (prefix: string) => {
      const found = await describe(admin, named(prefix).slice(0, MAX_GROUPS_DESCRIBED), topic)
      return found.flatMap(({ members }) => members)
    }
    return {
      projectorState: projectors?.state ?? 'Dead',
      projectors: projectors?.members ?? [],
      apis: await membersOf(topicsTails(topic)),
      replays: await membersOf(topicsReplays(topic)),
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
