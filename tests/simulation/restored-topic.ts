import type { RestoredTopic } from '@plant-store/plantctl/src/backup/restored-topic.ts'
import type { GroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import { type RawRecord, storedRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import type { LogRecord, NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { SimulatedProcess } from './clock.ts'
import { createKafkaLog } from './kafka.ts'
import type { Network } from './network.ts'

/** Room for one or two records, so that a partition takes several batches. */
const BATCH_BYTES = 700

/** A topic that restores write. A killed run may have requests on their way to it. */
export function createTarget(partitions: number) {
  return {
    ...{ log: createKafkaLog(partitions), exists: false, isLatched: false, wasReleased: false },
    /** Other programs write only while a run writes: what they write after the comparison no restore can notice. */
    isWritten: false,
    /** True when a run has sent the release, which may arrive after the run was killed. */
    isCompared: false,
    groups: new Map<string, GroupOffsets>(),
    /** The writer of each partition that may have transactions. */
    writers: new Map<Partition, SimulatedProcess>(),
  }
}
export type Target = ReturnType<typeof createTarget>

/** Kafka executes a request once that is sent again; a lost one is sent again. */
export async function send<T>(network: Network, process: SimulatedProcess, what: string, part: () => T): Promise<T> {
  let executed: { result: T } | undefined
  const once = () => {
    executed ??= { result: part() }
    return executed.result
  }
  while (true) {
    try {
      return await network.call(process, what, once)
    } catch (error) {
      if (error instanceof PreconditionError) throw error
    }
  }
}

/** Connects a run of a restore with a topic; `onRelease` is called when the latch is lifted. */
export function connectTarget(
  network: Network,
  process: SimulatedProcess,
  target: Target,
  onRelease = () => {},
): RestoredTopic {
  const request = <T>(what: string, part: () => T) => send(network, process, what, part)
  const assertAt = (partition: Partition, base: Offset, at: Offset) => {
    if (base !== at) throw new PreconditionError(`partition ${partition}: another writer`)
  }
  return {
    ...{ name: 'the topic', batchBytes: BATCH_BYTES },
    open: () =>
      request('creation of the topic', () => {
        if (target.exists && !target.isLatched) throw new PreconditionError('the topic exists')
        target.exists = true
        target.isLatched = true
        target.isWritten = true
        return { topicId: undefined, ends: target.log.ends() }
      }),
    openWriter: async () => ({
      takeOver: (partition) =>
        request('take-over', () => {
          target.writers.set(partition, process)
          return target.log.end(partition)
        }),
      async write(partition, messages, at) {
        const records = messages.map((message) => newRecordOf(partition, message as RawRecord))
        const base = await request('append to the topic', () => {
          const base = target.log.end(partition)
          for (const record of records) target.log.append(record)
          return base
        })
        assertAt(partition, base, at)
      },
      async skip(partition, from, end) {
        const base = await request('append of a transaction', () => {
          if (target.writers.get(partition) !== process) throw new PreconditionError('another restore has taken over')
          const base = target.log.end(partition)
          for (let left = end - from; left > 0; left--) target.log.skip(partition)
          return base
        })
        // A transaction without records returns no offset.
        if (end - from > 1) assertAt(partition, base, from)
      },
      async close() {
        target.isWritten = false
      },
    }),
    reader: () => async (ranges, onRecords) => {
      // Whatever a killed run has sent has arrived long before this has read the topic.
      network.arrive()
      for (const [partition, { end }] of ranges) {
        const records = target.log.raw(partition).filter(({ offset }) => offset < end)
        await onRecords(partition, records as unknown as (RawRecord & LogRecord)[], BEFORE_LOG)
      }
    },
    readEnds: () => request('read of the ends', target.log.ends),
    commitOffsets: ({ groupId, offsets }) =>
      request('commit', () => {
        target.groups.set(groupId, new Map(offsets.map(({ partition, ...offset }) => [partition, offset])))
      }),
    release() {
      target.isCompared = true
      return request('release of the topic', () => {
        target.isLatched = false
        target.wasReleased = true
        onRelease()
      })
    },
  }
}

function newRecordOf(partition: Partition, record: RawRecord): NewRecord {
  const { headers } = storedRecordOf(record)
  return { partition, key: record.key, value: record.value, headers } as NewRecord
}
