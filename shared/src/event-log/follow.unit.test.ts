import type { Kafka } from 'kafkajs'
import { expect, it, vi } from 'vitest'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { Offset } from '../plant/position.ts'
import { systemTime } from '../runtime/time.ts'
import { createFollower } from './follow.ts'

const TOPIC = 'plants'
const ASSIGNED = { payload: { memberAssignment: { [TOPIC]: [0] } } }
const CHECKPOINT = { offset: 10 as Offset, eventId: '' as const }

it('a follower that joins again commits what it has committed before, because Kafka may not have it', async () => {
  const listeners = new Map<string, (event: typeof ASSIGNED) => void>()
  const commitOffsets = vi.fn<(offsets: object[]) => Promise<void>>(async () => {})
  const nothing = () => {}
  const consumer = {
    ...{ readFor: nothing, pause: nothing, resume: nothing, seek: nothing, commitOffsets },
    ...{ connect: async () => {}, subscribe: async () => {}, disconnect: async () => {} },
    events: { GROUP_JOIN: 'join' },
    on: (event: string, listener: (event: typeof ASSIGNED) => void) => void listeners.set(event, listener),
    run: async () => listeners.get('join')?.(ASSIGNED),
  }
  const follower = createFollower({
    ...{ kafka: { consumer: () => consumer } as unknown as Kafka, topic: TOPIC, partitions: 1 },
    ...{ log: quietLog, time: systemTime, groupId: () => 'group', fetchLimits: {} },
    ends: async () => ({ topicId: undefined, ends: [11 as Offset] }),
    read: ({ offset }) => ({ offset }),
    checkpointOf: async () => CHECKPOINT,
    onRecords: async () => CHECKPOINT,
    onHalt: nothing,
  })
  follower.start()
  await vi.waitFor(() => expect([...(follower.assigned()?.values() ?? [])]).toEqual([CHECKPOINT]))
  await follower.commitForLagTools()
  await follower.commitForLagTools()
  expect(commitOffsets.mock.calls).toEqual([[[{ topic: TOPIC, partition: 0, offset: '11', metadata: '' }]]])
  listeners.get('join')?.(ASSIGNED)
  await vi.waitFor(() => expect([...(follower.assigned()?.values() ?? [])]).toEqual([CHECKPOINT]))
  await follower.commitForLagTools()
  expect(commitOffsets).toHaveBeenCalledTimes(2)
  await follower.close()
})
