import type { GroupOffset } from '../event-log/groups.ts'
import { type EventId, parseEventId } from '../plant/event-id.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { singleFlight } from '../runtime/single-flight.ts'

/** What is stored beside a committed offset: of how many partitions the topic was, and the event right before it. */
type Note = { partitions: number; eventId: EventId | '' }

/** A checkpoint as the group stores it: Kafka knows the next offset, the text beside it proves the log. */
export function groupOffsetOf({ offset, eventId }: Checkpoint, partitions: number): GroupOffset {
  return { next: after(offset), metadata: JSON.stringify({ partitions, eventId } satisfies Note) }
}

/**
 * The checkpoint that a group stored. One that somebody else committed (a tool that moved the group) names no event:
 * the log can't be proved there. Throws a PreconditionError when the topic had another count of partitions.
 */
export function checkpointOfGroup({ next, metadata }: GroupOffset, partitions: number): Checkpoint {
  const note = readNote(metadata)
  if (note !== undefined && note.partitions !== partitions) {
    throw new PreconditionError(
      `the topic had ${note.partitions} partitions when the group committed, and has ${partitions}: its ids have ` +
        'moved. Restore the topic, or begin with another group and new first claims',
      'partitions-changed',
    )
  }
  return { offset: (next - 1) as Offset, eventId: note?.eventId ?? '' }
}

function readNote(metadata: string): Note | undefined {
  try {
    const { partitions, eventId } = JSON.parse(metadata) as { partitions: unknown; eventId: unknown }
    if (!Number.isInteger(partitions) || typeof eventId !== 'string') return undefined
    return { partitions: partitions as number, eventId: parseEventId(eventId) ?? '' }
  } catch {
    return undefined
  }
}

export type GroupPositionOptions = {
  partitions: number
  /** Where to begin what the group has committed nothing of: the next offset of each partition. */
  begin: readonly Offset[]
  /** What the group has committed. */
  read(): Promise<Map<Partition, GroupOffset>>
  commit(offsets: ({ partition: Partition } & GroupOffset)[]): Promise<void>
}

/** Where a group stands, in Kafka's word. */
export function createGroupPosition({ partitions, begin, read, commit }: GroupPositionOptions) {
  const committed = new Map<Partition, Offset>()

  /** The partitions of an assignment ask at once; one answer does for all. */
  const readOnce = singleFlight(read)

  function due(passed: ReadonlyMap<Partition, Checkpoint>): Map<Partition, Checkpoint> {
    return new Map(
      [...passed].filter(([partition, { offset }]) => committed.get(partition) !== after(offset)),
    )
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
    /** Where the group goes on. Where it begins is committed first, or the next start would begin elsewhere. */
    async startOf(partition: Partition): Promise<Checkpoint> {
      const found = (await readOnce()).get(partition)
      if (found !== undefined) {
        committed.set(partition, found.next)
        return checkpointOfGroup(found, partitions)
      }
      const start: Checkpoint = { offset: ((begin[partition] ?? 0) - 1) as Offset, eventId: '' }
      await store(new Map([[partition, start]]))
      return start
    },

    /** Whether anything was passed that is not committed. */
    isBehind: (passed: ReadonlyMap<Partition, Checkpoint>): boolean => due(passed).size > 0,

    /** Commits what was passed beyond what is committed. */
    async commit(passed: ReadonlyMap<Partition, Checkpoint>): Promise<void> {
      const uncommitted = due(passed)
      if (uncommitted.size > 0) await store(uncommitted)
    },
  }
}
