import { preconditionErrorOf } from '../event-log/broker-errors.ts'
import { readLatestRows, type TableSource } from '../event-log/latest-rows.ts'
import { checkTopic, TABLE } from '../event-log/topic.ts'
import { allPartitions } from '../plant/position.ts'
import { writtenUpTo } from '../protocol/plants-table.ts'
import type { PartitionSpan, ReadModel } from '../read-model/read-model.ts'

/** `behind`: plants of the read model that were created after the latest row of their partition and can be read. */
export type TableStatus = { topic: string; behind: number }

/** More plants than these are counted without a look at whether they can be read. */
const TAIL_MAX_PLANTS = 1_000

/** Reads how far the table is. Throws a PreconditionError when its topic is not as required, or Kafka refuses it. */
export async function readTable(source: TableSource, { list }: Pick<ReadModel, 'list'>): Promise<TableStatus> {
  const { kafka, table, partitions } = source
  await checkTopic(kafka, { topic: table, partitions }, TABLE).catch((error: unknown) => {
    throw preconditionErrorOf(error, { topic: table })
  })
  const all = allPartitions(partitions)
  const latest = await readLatestRows(source, all)
  const written = all.map((partition) => writtenUpTo(latest.get(partition)).offset)
  const spansFrom = (from: (index: number) => number, count: number): PartitionSpan[] =>
    all.map((partition, index) => ({ partition, from: from(index), count }))

  // Plants are listed in the order of their creation: a binary search finds the first one after the latest row.
  const sizes = (await list(spansFrom(() => 0, 1))).map(({ plants }) => plants)
  const [low, high] = [sizes.map(() => 0), [...sizes]]
  const middle = (index: number) => Math.floor(((low[index] as number) + (high[index] as number)) / 2)
  while (all.some((_, index) => (low[index] as number) < (high[index] as number))) {
    const found = await list(spansFrom(middle, 1))
    for (const [index, { claims }] of found.entries()) {
      if ((low[index] as number) >= (high[index] as number)) continue
      const isWritten = (claims[0]?.offset ?? Infinity) <= (written[index] as number)
      if (isWritten) low[index] = middle(index) + 1
      else high[index] = middle(index)
    }
  }
  const tails = await list(spansFrom((index) => low[index] as number, TAIL_MAX_PLANTS))
  const behind = tails.map(({ claims }, index) => {
    const after = (sizes[index] as number) - (low[index] as number)
    return after > TAIL_MAX_PLANTS ? after : claims.filter(({ plant }) => plant !== undefined).length
  })
  return { topic: table, behind: behind.reduce((sum, plants) => sum + plants, 0) }
}
