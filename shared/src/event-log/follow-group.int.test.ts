import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { startOwnKafka } from '../../../tests/support/own-stores.ts'
import { allPartitions, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { withAdmin } from './connection.ts'
import { readGroupOffsets } from './groups.ts'

const PARTITIONS = 4
const WAIT_MS = 30_000

async function openFollowed() {
  const topic = await openTopic(PARTITIONS)
  const appended = new Map<Partition, string[]>(allPartitions(PARTITIONS).map((partition) => [partition, []]))
  return {
    ...topic,
    /** The event ids in each partition, in log order. */
    appended,
    async append(count: number): Promise<void> {
      for (const { partition, headers } of await topic.append(count)) {
        appended.get(partition)?.push(String(headers.ce_id))
      }
    },
  }
}

describe('members of one group', () => {
  it('share the partitions, and continue from the checkpoints when one joins or leaves', async () => {
    const topic = await openFollowed()
    const groupId = `test-${randomUUID()}`
    // Like the read model: applies records that follow its checkpoint, and otherwise returns its checkpoint.
    const checkpoints = new Map<Partition, Checkpoint>()
    const applied = new Map<Partition, string[]>(allPartitions(PARTITIONS).map((partition) => [partition, []]))
    const join = () =>
      followLog(
        topic,
        {
          groupId: () => groupId,
          async onRecords(partition, records, next, from) {
            const reached = checkpoints.get(partition) ?? BEFORE_LOG
            if (reached.offset !== from.offset) return reached
            for (const { claim } of records) applied.get(partition)?.push(String(claim?.eventId))
            checkpoints.set(partition, next)
            return next
          },
        },
        checkpoints,
      )
    const assignedTo = (member: ReturnType<typeof join>) => [...(member.follower.assigned()?.keys() ?? [])]
    const untilApplied = () => vi.waitFor(() => expect(applied).toEqual(topic.appended), WAIT_MS)

    await topic.append(40)
    const first = join()
    await untilApplied()
    expect(assignedTo(first)).toHaveLength(PARTITIONS)

    const second = join()
    await topic.append(40)
    await vi.waitFor(() => {
      expect(assignedTo(first)).toHaveLength(PARTITIONS / 2)
      expect(new Set([...assignedTo(first), ...assignedTo(second)])).toEqual(new Set(allPartitions(PARTITIONS)))
      expect(assignedTo(second)).toHaveLength(PARTITIONS / 2)
    }, WAIT_MS)
    await topic.append(40)
    await untilApplied()

    await first.follower.close()
    await topic.append(40)
    await untilApplied()
    expect(assignedTo(second)).toHaveLength(PARTITIONS)
    expect([...first.halts, ...second.halts]).toEqual([])
  })

  it('remain members when their consumer crashes', async () => {
    const kafka = await startOwnKafka()
    const topic = await openTopic(PARTITIONS, kafka.brokers)
    const groupId = `test-${randomUUID()}`
    const consumers = vi.fn(() => groupId)
    // Its consumers may not wait long before they begin again: the session of the member would end.
    const after: Time['after'] = (ms, callback) => systemTime.after(Math.min(ms, 250), callback)
    const { follower } = followLog(topic, { groupId: consumers, time: { ...systemTime, after } })
    const untilAssigned = () => vi.waitFor(() => expect(follower.assigned()?.size).toBe(PARTITIONS), WAIT_MS)
    async function membersOfGroup(): Promise<string[] | undefined> {
      const { groups } = await withAdmin(topic.kafka, (admin) => admin.describeGroups([groupId]))
      return groups[0]?.members.map(({ memberId }) => memberId)
    }
    await untilAssigned()
    const members = await membersOfGroup()
    expect(members).toHaveLength(1)
    await kafka.crashAndStartAgain()
    await vi.waitFor(() => expect(consumers.mock.calls.length).toBeGreaterThan(1), WAIT_MS)
    await untilAssigned()
    expect(await membersOfGroup()).toEqual(members)
  })

  it('commit for lag tools how far each partition was read', async () => {
    const topic = await openFollowed()
    await topic.append(30)
    const groupId = `test-${randomUUID()}`
    const followed = followLog(topic, { groupId: () => groupId })
    await vi.waitFor(() => {
      const lengths = allPartitions(PARTITIONS).map((partition) => followed.offsetsOf(partition).length)
      expect(lengths).toEqual([...topic.appended.values()].map(({ length }) => length))
    }, WAIT_MS)
    await followed.follower.commitForLagTools()

    const committed = await readGroupOffsets(topic.kafka, groupId, topic.topic)
    const offsets = allPartitions(PARTITIONS).map((partition) => committed.get(partition)?.next)
    expect(offsets).toEqual([...topic.appended.values()].map(({ length }) => length))
  })
})

describe('closing', () => {
  const active = (kind: 'TCPSocketWrap' | 'Timeout') =>
    process.getActiveResourcesInfo().filter((resource) => resource === kind).length

  async function expectNothingLeft(before: { connections: number; timers: number }): Promise<void> {
    // Sockets need a moment to close. The wait itself uses timers, so timers are counted after it.
    await vi.waitFor(() => expect(active('TCPSocketWrap')).toBeLessThanOrEqual(before.connections), WAIT_MS)
    expect(active('Timeout')).toBeLessThanOrEqual(before.timers)
  }

  it('leaves no connection and no timer', async () => {
    const topic = await openFollowed()
    await topic.append(10)
    const before = { connections: active('TCPSocketWrap'), timers: active('Timeout') }
    const followed = followLog(topic)
    await vi.waitFor(() => expect(followed.follower.assigned()?.size).toBe(PARTITIONS), WAIT_MS)
    expect(active('TCPSocketWrap')).toBeGreaterThan(before.connections)
    await followed.follower.close()
    await expectNothingLeft(before)
    expect(followed.follower.assigned()).toBeUndefined()
  })

  it('leaves no connection and no timer while the group is being joined', async () => {
    const topic = await openFollowed()
    const before = { connections: active('TCPSocketWrap'), timers: active('Timeout') }
    const followed = followLog(topic)
    await followed.follower.close()
    await expectNothingLeft(before)
    expect(followed.delivered).toEqual([])
  })
})
