import { existsSync, readFileSync } from 'node:fs'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { readEnds } from '@plant-store/shared/event-log/topic.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { quietLog } from '../support/quiet-log.ts'
import { type Cluster, TOPIC } from './cluster.ts'
import type { Delivery, LoggedClaim } from './judge.ts'

/** Reads the whole log. */
export async function readLog({ admin: kafka }: Cluster): Promise<LoggedClaim[]> {
  const { ends } = await readEnds(kafka, TOPIC.topic)
  const log: LoggedClaim[] = []
  await replay({
    ...{ ...TOPIC, kafka, log: quietLog, time: systemTime },
    read: recordReader(TOPIC.partitions),
    ranges: new Map(ends.map((end, partition) => [partition as Partition, { from: BEFORE_LOG, end }])),
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
