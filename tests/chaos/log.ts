import { existsSync, readFileSync } from 'node:fs'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { quietLog } from '../support/quiet-log.ts'
import { type Cluster, TOPIC } from './cluster.ts'
import type { Delivery, LoggedClaim } from './judge.ts'

/** Reads the whole log. */
export async function readLog({ admin: kafka }: Cluster): Promise<LoggedClaim[]> {
  const offsets = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(TOPIC.topic))
  const ends = offsets.map(({ partition, high }) => [partition as Partition, offsetOf(high)] as const)
  const log: LoggedClaim[] = []
  await replay({
    ...{ ...TOPIC, kafka, log: quietLog, time: systemTime },
    read: recordReader(TOPIC.partitions),
    ranges: new Map(ends.map(([partition, end]) => [partition, { from: BEFORE_LOG, end }])),
    onRecords(partition, records) {
      for (const { claim } of records) {
        if (claim === undefined) continue
        const { offset, id, eventId, plant } = claim
        log.push({ partition, offset, id: Number(id), eventId, name: plant?.name })
      }
    },
  })
  return log
}

/** Reads the events that a consumer's processes noted, one per line: `partition offset eventId`. */
export function readDeliveries(file: string): Delivery[] {
  if (!existsSync(file)) return []
  // A process that was killed may have left half a line.
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\d+ \d+ [\da-f-]{36}$/.test(line))
  return lines.map((line) => {
    const [partition, offset, eventId] = line.split(' ') as [string, string, string]
    return { partition: Number(partition), offset: Number(offset), eventId }
  })
}
