import type { GroupOffset } from '../event-log/groups.ts'
import { type EventId, parseEventId } from '../plant/event-id.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError, resultOf } from '../runtime/failures.ts'
import { singleFlight } from '../runtime/single-flight.ts'

/** The metadata of a committed offset: the partition count of the topic, and the event before the offset. */
type CommitMetadata = { partitions: number; eventId: EventId | '' }

/** A checkpoint as the group stores it: the next offset, with metadata that identifies the log. */
export function groupOffsetOf({ offset, eventId }: Checkpoint, partitions: number): GroupOffset {
  return { next: after(offset), metadata: JSON.stringify({ partitions, eventId } satisfies CommitMetadata) }
}

/**
 * The checkpoint that a group has stored. An offset that a tool committed has no event id: the log cannot be verified
 * there. Throws a PreconditionError when the topic had another partition count.
 */
export function checkpointOfGroup({ next, metadata }: GroupOffset, partitions: number): Checkpoint {
  const committed = readMetadata(metadata)
  if (committed !== undefined && committed.partitions !== partitions) {
    throw new PreconditionError(
      `the topic had ${committed.partitions} partitions when the group committed, and has ${partitions} now: ids have ` +
        'moved. Restore the topic, or start with another group and new first claims',
      'partitions-changed',
    )
  }
  return { offset: (next - 1) as Offset, eventId: committed?.eventId ?? '' }
}

function readMetadata(metadata: string): CommitMetadata | undefined {
  const { partitions, eventId } = (resultOf(() => JSON.parse(metadata)) ?? {}) as Record<string, unknown>
  if (!Number.isInteger(partitions) || typeof eventId !== 'string') return undefined
  return { partitions: partitions as number, eventId: parseEventId(eventId) ?? '' }
}

export type GroupPositionOptions = {
  partitions: number
  /** The first offset of each partition for which the group has not committed one; of others it may be unknown. */
  start: readonly (Offset | undefined)[]
  read(): Promise<Map<Partition, GroupOffset>>
  commit(offsets: ({ partition: Partition } & GroupOffset)[]): Promise<void>
}

export function createGroupPosition({ partitions, start, read, commit }: GroupPositionOptions) {
  const committed = new Map<Partition, Offset>()

  /** The partitions of an assignment read it at the same time; one request is enough for all. */
  const readOnce = singleFlight(read)

  function due(passed: ReadonlyMap<Partition, Checkpoint>): Map<Partition, Checkpoint> {
    return new Map([...passed].filter(([partition, { offset }]) => committed.get(partition) !== after(offset)))
  }

  async function store(passed: ReadonlyMap<Partition, Checkpoint>): Promise<void> {
    const offsets = [...passed].map(([partition, checkpoint]) => ({
      partition,
      ...groupOffsetOf(checkpoint, partitions),
    }))
    await commit(offsets)
    for (const { partition, next } of offsets) committed.set(partition, next)
  }

  return {
    /** The position where the group continues. A new group commits it first; otherwise the next start could differ. */
    async startOf(partition: Partition): Promise<Checkpoint> {
      const found = (await readOnce()).get(partition)
      if (found !== undefined) {
        committed.set(partition, found.next)
        return checkpointOfGroup(found, partitions)
      }
      const checkpoint: Checkpoint = { offset: ((start[partition] ?? 0) - 1) as Offset, eventId: '' }
      await store(new Map([[partition, checkpoint]]))
      return checkpoint
    },

    /** True if any of these checkpoints is not committed. */
    isBehind: (passed: ReadonlyMap<Partition, Checkpoint>): boolean => due(passed).size > 0,

    /** Commits those checkpoints that are not committed yet. */
    async commit(passed: ReadonlyMap<Partition, Checkpoint>): Promise<void> {
      const uncommitted = due(passed)
      if (uncommitted.size > 0) await store(uncommitted)
    },
  }
}
