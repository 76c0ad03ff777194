import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds } from '../../../tests/support/generated-plants.ts'
import type { GroupOffset } from '../event-log/groups.ts'
import { FIRST, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { checkpointOfGroup, createGroupPosition, groupOffsetOf } from './group-position.ts'

const P = 0 as Partition
const checkpoints: fc.Arbitrary<Checkpoint> = fc.record({
  offset: fc.integer({ min: -1, max: 2 ** 48 - 2 }) as fc.Arbitrary<Offset>,
  eventId: fc.oneof(eventIds, fc.constant('' as const)),
})
const counts = fc.integer({ min: 1, max: 1_000 })

/** A position of partition 0 over a store that holds what is committed. */
function openPosition(start = FIRST) {
  const stored = new Map<Partition, GroupOffset>()
  const commits: number[] = []
  const position = createGroupPosition({
    partitions: 1,
    start: [start],
    read: async () => new Map(stored),
    async commit(offsets) {
      for (const { partition, ...offset } of offsets) {
        stored.set(partition, offset)
        commits.push(offset.next)
      }
    },
  })
  return { ...position, stored, commits }
}

describe('the position of a group', () => {
  it('is read back unchanged, and rejected for a topic with another partition count', () => {
    fc.assert(
      fc.property(checkpoints, counts, counts, (checkpoint, partitions, others) => {
        const stored = groupOffsetOf(checkpoint, partitions)
        expect(checkpointOfGroup(stored, partitions)).toEqual(checkpoint)
        if (others !== partitions) expect(() => checkpointOfGroup(stored, others)).toThrow('ids have moved')
      }),
    )
  })

  it('has no event id when another program stored it', () => {
    const texts = fc.oneof(fc.string(), fc.json())
    fc.assert(
      fc.property(texts, (metadata) => {
        expect(checkpointOfGroup({ next: 7 as Offset, metadata }, 3)).toEqual({ offset: 6, eventId: '' })
      }),
    )
  })

  it('is committed where it begins before anything is read, and then only where it moved', async () => {
    const position = openPosition(40 as Offset)
    const start = await position.startOf(P)
    expect(start).toEqual({ offset: 39, eventId: '' })
    expect(position.commits).toEqual([40])
    await position.commit(new Map([[P, start]]))
    expect(position.commits).toEqual([40])
    await position.commit(new Map([[P, { offset: 41 as Offset, eventId: '' }]]))
    expect(position.commits).toEqual([40, 42])
    expect(await position.startOf(P)).toEqual({ offset: 41, eventId: '' })
    expect(position.commits).toEqual([40, 42])
  })
})
