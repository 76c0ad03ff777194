import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import { type LogRecord, type NewRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Delivery } from '@plant-store/shared/protocol/checkpoint.ts'

/** Partitions of the logs of plant stores. */
export const PARTITIONS = 2
export const ALL = allPartitions(PARTITIONS)

export type Log = ReturnType<typeof createKafkaLog>

/** The committed log of a topic. Some offsets have no record: control records, aborted transactions. */
export function createKafkaLog(partitions: number) {
  const logs = Array.from({ length: partitions }, () => ({
    records: [] as LogRecord[],
    raw: [] as RawRecord[],
    end: 0 as Offset,
  }))
  const at = (partition: Partition) => logs[partition] as (typeof logs)[number]

  return {
    append({ partition, key, value, headers }: NewRecord): Offset {
      const log = at(partition)
      const offset = log.end
      log.records.push(readRecord({ offset, key, value, headers }, partition, partitions))
      const list = Object.entries(headers).map(([name, content]): [Buffer, Buffer] => [Buffer.from(name), content])
      log.raw.push({ offset, timestamp: '0', key, value, headers: list })
      log.end = after(offset)
      return offset
    },

    /** An offset without a record. */
    skip(partition: Partition): void {
      const log = at(partition)
      log.end = after(log.end)
    },

    /** Loses everything from `end` on, which no real log may do. */
    truncate(partition: Partition, end: Offset): void {
      const log = at(partition)
      log.records = log.records.filter(({ offset }) => offset < end)
      log.raw = log.raw.filter(({ offset }) => offset < end)
      log.end = end
    },

    ends: (): Offset[] => logs.map(({ end }) => end),
    end: (partition: Partition): Offset => at(partition).end,
    records: (partition: Partition): readonly LogRecord[] => at(partition).records,
    raw: (partition: Partition): readonly RawRecord[] => at(partition).raw,

    /** The result of a fetch from a replica that has the log up to `end`; undefined at its end. */
    fetch(partition: Partition, requested: Offset, maxRecords: number, end = at(partition).end): Delivery | undefined {
      if (requested >= end) return undefined
      const found = at(partition).records.filter(({ offset }) => offset >= requested && offset < end)
      const taken = found.slice(0, maxRecords)
      const isAll = taken.length === found.length
      const last = (isAll ? end - 1 : (taken.at(-1) as LogRecord).offset) as Offset
      return { requested, last, records: taken }
    },
  }
}
