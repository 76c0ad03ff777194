import { expect, it } from 'vitest'
import { groupsWithLiveCoordinator } from './coordinator.ts'

/** A group whose coordinator has moved, and whose former one reacts to a heartbeat in this way. */
function movedGroup(react: () => Promise<void>) {
  const Group = class {
    groupId = 'plants'
    memberId = null
    coordinator: unknown = 'former'
    offsetManager = { coordinator: 'former' as unknown }
    cluster = { findGroupCoordinator: async ({ groupId }: { groupId: string }) => `new one of ${groupId}` }
    heartbeat(_options: { interval: number }): Promise<void> {
      return react()
    }
    leave(): Promise<void> {
      return react()
    }
    joinAndSync(): Promise<void> {
      return react()
    }
  }
  return new (groupsWithLiveCoordinator(Group))({})
}

it.each([
  ['does not respond', {}, 'new one of plants'],
  ['is the coordinator no more', { type: 'NOT_COORDINATOR_FOR_GROUP' }, 'new one of plants'],
  ['has expelled the member', { type: 'UNKNOWN_MEMBER_ID' }, 'former'],
])(
  'a heartbeat fails when the coordinator %s, and the next one and commits go to the right one',
  async (_, fields, next) => {
    const error = Object.assign(new Error('failed'), fields)
    const group = movedGroup(() => Promise.reject(error))
    await expect(group.heartbeat({ interval: 1 })).rejects.toBe(error)
    expect(group).toMatchObject({ coordinator: next, offsetManager: { coordinator: next } })
  },
)

it('a group is left although its coordinator does not respond', async () => {
  await expect(movedGroup(() => new Promise(() => {})).leave()).resolves.toBeUndefined()
})
