import { replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { emptyPartition, fold } from '@plant-store/shared/protocol/first-wins.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { quietLog } from '../support/quiet-log.ts'
import type { TestTopic } from '../support/topic.ts'
import type { PlantLine } from './dump.ts'

/** The plants of a log by id, as read by the product itself and as the examples write them. */
export async function plantsOfLog(topic: TestTopic): Promise<Map<string, PlantLine>> {
  const { ends } = await checkTopic(topic.kafka, topic)
  const states = new Map(allPartitions(topic.partitions).map((partition) => [partition, emptyPartition()]))
  await replay({
    ...{ ...topic, log: quietLog, time: systemTime, read: recordReader(topic.partitions) },
    ranges: new Map(
      [...states].map(([partition, { checkpoint }]) => [
        partition,
        { from: checkpoint, end: ends[partition] as Offset },
      ]),
    ),
    onRecords(partition, records) {
      fold(states.get(partition) ?? emptyPartition(), records)
    },
  })
  const claims = [...states.values()].flatMap(({ plants }) => [...plants.values()])
  return new Map(claims.map(({ id, plant }) => [String(id), { id: String(id), ...(plant ?? { unreadable: true }) }]))
}
