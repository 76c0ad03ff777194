import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventIds } from '../../../tests/support/generated-plants.ts'
import type { Offset } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { checkpointOfGroup, groupOffsetOf } from './group-position.ts'

const checkpoints: fc.Arbitrary<Checkpoint> = fc.record({
  offset: fc.integer({ min: -1, max: 2 ** 48 - 2 }) as fc.Arbitrary<Offset>,
  eventId: fc.oneof(eventIds, fc.constant('' as const)),
})
const counts = fc.integer({ min: 1, max: 1_000 })

it('the position of a group is read back unchanged, and rejected for a topic with another partition count', () => {
  fc.assert(
    fc.property(checkpoints, counts, counts, (checkpoint, partitions, others) => {
      const stored = groupOffsetOf(checkpoint, partitions)
      expect(checkpointOfGroup(stored, partitions)).toEqual(checkpoint)
      if (others !== partitions) expect(() => checkpointOfGroup(stored, others)).toThrow('ids have moved')
    }),
  )
})

it('the position of a group has no event id when another program stored it', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (metadata) => {
      expect(checkpointOfGroup({ next: 7 as Offset, metadata }, 3)).toEqual({ offset: 6, eventId: '' })
    }),
  )
})
