import { preconditionErrorOf } from '../event-log/broker-errors.ts'
import { readLatestRows, type TableSource } from '../event-log/latest-rows.ts'
import { checkTopic, TABLE } from '../event-log/topic.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import type { ListedSpan } from '../protocol/list.ts'
import { writtenUpTo } from '../protocol/plants-table.ts'
import type { ReadModel } from '../read-model/read-model.ts'

/**
 * `upTo`: the creation of the latest row of each partition, -1 without rows. `behind`: plants of the read model that were
 * created after it and can be read.
 */
export type TableStatus = { topic: string; upTo: Offset[]; behind: number }

/** More plants than these are counted without a look at whether they can be read. */
const TAIL_MAX_PLANTS = 1_000

/** Reads how far the table is. Throws a PreconditionError when its topic is not as required, or Kafka refuses it. */
export async function readTable(source: TableSource, { listEach }: Pick<ReadModel, 'listEach'>): Promise<TableStatus> {
  const { kafka, table, partitions } = source
  await checkTopic(kafka, { topic: table, partitions }, TABLE).catch((error: unknown) => {
    throw preconditionErrorOf(error, { topic: table })
  })
  const latest = await readLatestRows(source, allPartitions(partitions))
  const upTo = allPartitions(partitions).map((partition) => writtenUpTo(latest.get(partition)).offset)
  const behind = await Promise.all(allPartitions(partitions).map(countBehind))
  return { topic: table, upTo, behind: behind.reduce((sum, plants) => sum + plants, 0) }

  async function countBehind(partition: Partition): Promise<number> {
    const written = upTo[partition] as Offset
    const read = async (from: number, count: number) => (await listEach([{ partition, from, count }])[0]) as ListedSpan
    const { plants } = await read(0, 1)
    // Plants are listed in the order of their creation: a binary search finds the first one after the latest row.
    let [low, high] = [0, plants]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const [claim] = (await read(middle, 1)).claims
      if (claim !== undefined && claim.offset <= written) low = middle + 1
      else high = middle
    }
    if (plants - low > TAIL_MAX_PLANTS) return plants - low
    const { claims } = await read(low, TAIL_MAX_PLANTS)
    return claims.filter(({ plant }) => plant !== undefined).length
  }
}
