import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime, type Time } from '@plant-store/shared/runtime/time.ts'
import { type VerifierOptions, verifyReadModel } from '../../plantctl/src/verify/verifier.ts'
import type { LogBatch } from './generated-logs.ts'
import { openReadModel } from './opened-read-model.ts'

export type VerifiedLog = Awaited<ReturnType<typeof openVerifiedLog>>

/** A log of two partitions in memory, projected into a real Redis by the product's own apply, and verified from there. */
export async function openVerifiedLog() {
  const { topic, partitions, readModel, redis, apply } = await openReadModel({ partitions: 2 })
  const logs = allPartitions(partitions).map((): LogRecord[] => [])
  const ends = logs.map(() => FIRST)

  const logOf = (partition: Partition) => logs[partition] as LogRecord[]

  /** As replay.ts does. */
  const read: VerifierOptions['read'] = async (ranges, onRecords) => {
    for (const [partition, { end }] of ranges) {
      const records = logOf(partition).filter(({ offset }) => offset < end)
      if (end > FIRST) await onRecords(partition, records, checkpointAt((end - 1) as Offset, records))
    }
  }

  return {
    ...{ topic, readModel, redis, read },
    at: (partition: Partition) => `{${topic}:${partition}}:`,

    /** Appends records to the log, but not to the read model. */
    write(partition: Partition, { records, next }: LogBatch): void {
      logOf(partition).push(...records)
      ends[partition] = (next.offset + 1) as Offset
    },

    /** Applies the next batch of the read model. */
    async apply(partition: Partition, batch: LogBatch, generation: string): Promise<void> {
      await apply(partition, (await readModel.meta(partition)).checkpoint, batch, generation)
    },

    /** Deletes all keys of this topic. */
    async empty(): Promise<void> {
      for (const partition of allPartitions(partitions)) {
        logOf(partition).length = 0
        ends[partition] = FIRST
      }
      const keys = await redis.keys(`{${topic}:*`)
      if (keys.length > 0) await redis.del(keys)
    },

    verify(options: Partial<VerifierOptions> = {}) {
      return verifyReadModel(allPartitions(partitions), {
        generations: readModel.generations,
        time: systemTime,
        readEnds: async () => [...ends],
        read,
        ...options,
      })
    },
  }
}

/** A time in which each wait ends when this work is done. */
export const timeOf = (work: () => Promise<unknown>): Time => ({
  now: () => 0,
  after(_ms, callback) {
    void work().then(callback)
    return () => undefined
  },
})
