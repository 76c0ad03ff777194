import { randomUUID } from 'node:crypto'
import type { Admin, Kafka } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import { type LogPosition, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { PreconditionError, resultOf } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { within } from '../runtime/time.ts'
import { isOfType, Refused, refusalOf } from './broker-errors.ts'
import { withAdmin } from './connection.ts'
import { undecodableOf } from './undecodable.ts'

/**
 * One process in a group, and the partitions that it is assigned: undefined when another program has assigned them. The
 * id distinguishes members of one client and host.
 */
export type Member = { id: string; clientId: string; host: string; partitions: Partition[] | undefined }

/** The readers of a topic: its projectors share one group, each other reader has a separate group. */
export type Readers = Awaited<ReturnType<typeof readReaders>>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Kafka appends a UUID to the client id of a member. */
const [UUID_CHARACTERS, SHORT_ID_CHARACTERS] = [36, 8]
/** A Kafka that hangs is left to delete the groups itself. */
const DELETE_WITHIN_MS = 5_000
/** Groups without members remain for some minutes. */
const MAX_GROUPS_DESCRIBED = 1_000

/** The client id of each process of a service. */
export const clientIdOf = (service: 'api' | 'projector') => `plant-store-${service}`

/** The group in which projectors share the partitions. */
export const projectorGroup = (topic: string) => `${topic}-projector`

/** The prefix of the groups of all other readers; each reader has a separate group. */
export const groupPrefix = (topic: string, reader: 'tail' | 'replay' | 'rebuild') => `${topic}-${reader}`

/** True if the service's own readers of this topic use this group. Another member would take partitions from them. */
export function isServiceGroup(groupId: string, topic: string): boolean {
  const prefixes = (['tail', 'replay', 'rebuild'] as const).map((reader) => `${groupPrefix(topic, reader)}-`)
  return groupId === projectorGroup(topic) || prefixes.some((prefix) => groupId.startsWith(prefix))
}

/** Names groups that are joined once, and deletes them. */
export function createThrowawayGroups(kafka: Kafka, prefix: string, log: Log) {
  const groups: string[] = []

  return {
    groupId(): string {
      const group = `${prefix}-${randomUUID()}`
      groups.push(group)
      return group
    },

    /** Deletes all groups; close their consumers first. Kafka would delete them itself after days. */
    async deleteAll(): Promise<void> {
      if (groups.length === 0) return
      const deleted = withAdmin(kafka, (admin) => admin.deleteGroups(groups.splice(0))).catch((err: unknown) =>
        log.debug({ err }, 'a consumer group was not deleted; Kafka deletes it after some days'),
      )
      await within(DELETE_WITHIN_MS, deleted)
    },
  }
}

/** The next offset that a group has committed for a partition, and the metadata committed with it. */
export type GroupOffset = { next: Offset; metadata: string }

export type GroupOffsets = Map<Partition, GroupOffset>

/** The offsets that a group has committed in a topic. Partitions without one are left out. */
export async function readGroupOffsets(kafka: Kafka, groupId: string, topic: string): Promise<GroupOffsets> {
  return withAdmin(kafka, (admin) => fetchGroupOffsets(admin, groupId, topic))
}

async function fetchGroupOffsets(admin: Admin, groupId: string, topic: string): Promise<GroupOffsets> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
  const committed: GroupOffsets = new Map()
  for (const { partition, offset, metadata } of found?.partitions ?? []) {
    // -1: nothing is committed.
    if (Number(offset) < 0) continue
    committed.set(partition as Partition, { next: offsetOf(offset), metadata: metadata ?? '' })
  }
  return committed
}

/**
 * The committed offsets of every group that this user may describe and that has some in the topic, by name. Kafka
 * conceals all others: `areAll` is false when there may be some.
 */
export async function readOffsetsOfAllGroups(kafka: Kafka, topic: string) {
  return withAdmin(kafka, async (admin) => {
    const groups = new Map<string, GroupOffsets>()
    let areAll = true
    const add = async (groupId: string) => {
      const offsets = await fetchGroupOffsets(admin, groupId, topic).catch((error: unknown) => {
        if (!isOfType(error, 'GROUP_AUTHORIZATION_FAILED')) throw error
        areAll = false
        return undefined
      })
      if (offsets?.size) groups.set(groupId, offsets)
    }
    // No group has this name: only the right on all groups includes it.
    await add(randomUUID())
    const { groups: listed } = await admin.listGroups()
    // Also the names of groups that it may not describe, for a user that may describe the cluster.
    for (const groupId of listed.map(({ groupId }) => groupId).sort()) await add(groupId)
    return { groups, areAll }
  })
}

/** Commits the offsets of a group. Rejects when it has members; with a PreconditionError when Kafka refuses the user. */
export async function commitGroupOffsets(
  kafka: Kafka,
  groupId: string,
  topic: string,
  offsets: Iterable<{ partition: Partition } & GroupOffset>,
): Promise<void> {
  const partitions = [...offsets].map(({ partition, next, metadata }) => ({
    ...{ partition, metadata, offset: String(next) },
  }))
  await withAdmin(kafka, (admin) => admin.commitOffsets(groupId, topic, partitions)).catch(
    (error: { type?: string }) => {
      if (error.type === 'UNKNOWN_MEMBER_ID') throw new Error('the group has members')
      const refusal = refusalOf(error, { topic, groupId })
      throw refusal === undefined ? error : new PreconditionError(refusal, 'not-authorized')
    },
  )
}

/** Reads who reads the topic now. Rejects with a Refused when the user may not describe the groups. */
export async function readReaders(kafka: Kafka, topic: string) {
  return withAdmin(kafka, async (admin) => {
    const { groups } = await admin.listGroups()
    const membersOf = async (reader: Parameters<typeof groupPrefix>[1]) => {
      const prefix = `${groupPrefix(topic, reader)}-`
      const names = groups
        .map(({ groupId }) => groupId)
        .filter((name) => name.startsWith(prefix) && UUID.test(name.slice(prefix.length)))
      const found = await describeGroups(admin, names.slice(0, MAX_GROUPS_DESCRIBED), topic)
      return found.flatMap(({ members }) => members)
    }
    const isListed = groups.some(({ groupId }) => groupId === projectorGroup(topic))
    const [projectors] = await describeGroups(admin, [projectorGroup(topic)], topic)
    const committed = await fetchGroupOffsets(admin, projectorGroup(topic), topic).catch((error: { type?: string }) => {
      if (error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return []
      throw error
    })
    return {
      /** The batches that no projector can decode, as the last one has committed it. */
      undecodable: [...committed].flatMap(([partition, { metadata }]): LogPosition[] =>
        undecodableOf(partition, metadata),
      ),
      /**
       * Kafka's state of the projectors' group: Stable, PreparingRebalance, CompletingRebalance, Empty or Dead. Concealed:
       * it exists, but Kafka shows none of its members, because one uses the new protocol (KIP-848).
       */
      projectorState: isListed && projectors?.state === 'Dead' ? 'Concealed' : (projectors?.state ?? 'Dead'),
      projectors: projectors?.members ?? [],
      apis: await membersOf('tail'),
      replays: await membersOf('replay'),
      rebuilds: await membersOf('rebuild'),
    }
  })
}

async function describeGroups(admin: Admin, names: string[], topic: string) {
  if (names.length === 0) return []
  const { groups } = await admin.describeGroups(names).catch((error: unknown) => {
    const isRefused = refusalOf(error, { topic }) !== undefined
    throw isRefused ? new Refused(`Kafka refuses this user Describe on group ${topic}-: add the ACL, prefixed`) : error
  })
  return groups.map(({ state, members }) => ({
    state: state as string,
    members: members.map(({ memberId, clientId, clientHost, memberAssignment }): Member => {
      const id = memberId.slice(-UUID_CHARACTERS, SHORT_ID_CHARACTERS - UUID_CHARACTERS)
      return { id, clientId, host: clientHost.replace(/^\//, ''), partitions: assigned(memberAssignment, topic) }
    }),
  }))
}

function assigned(assignment: Buffer, topic: string): Partition[] | undefined {
  // Empty while the group is being joined.
  if (assignment.length === 0) return []
  const decode = () => kafkajs.AssignerProtocol.MemberAssignment.decode(assignment)?.assignment[topic] ?? []
  return resultOf(decode)?.toSorted((a, b) => a - b) as Partition[] | undefined
}
