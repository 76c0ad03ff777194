import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import type { Log } from './kafka.ts'
import type { Generation, RedisServer } from './redis-scripts.ts'

// The test oracle: the correct results, computed from the log alone and independently of the product.

/** The first claim of an id in the log. */
export function winnerOf(log: Log, id: PlantId): (Claim & { partition: Partition }) | undefined {
  const partition = partitionOf(Buffer.from(id.toString()), log.ends().length)
  const claim = log.records(partition).find((record) => record.claim?.id === id)?.claim
  return claim && { ...claim, partition }
}

/** The first claims of a partition's ids, in log order. */
export const firstsOf = (log: Log, partition: Partition): Claim[] => [...firstsIn(log.records(partition)).values()]

function firstsIn(records: readonly LogRecord[]): Map<PlantId, Claim> {
  const firsts = new Map<PlantId, Claim>()
  for (const { claim } of records) if (claim !== undefined && !firsts.has(claim.id)) firsts.set(claim.id, claim)
  return firsts
}

/**
 * The difference between a server and the fold of the log up to the server's own checkpoints; undefined if equal. A
 * generation that has lost a key is no fold.
 */
export function differenceFromFold(log: Log, server: RedisServer): string | undefined {
  for (const [index, { live, generations }] of server.entries()) {
    const generation = generations.get(live)
    if (generation === undefined || hasLostKey(generation)) continue
    const difference = compare(generation, log, index as Partition)
    if (difference !== undefined) return `partition ${index} up to ${generation.checkpoint.offset}: ${difference}`
  }
  return undefined
}

const hasLostKey = ({ plants, order, plantCount }: Generation) =>
  plantCount > 0 && (plants.size === 0 || order.length === 0)

function compare(generation: Generation, log: Log, partition: Partition): string | undefined {
  const { checkpoint, plants, order, parked, voids } = generation
  if (checkpoint.offset >= log.end(partition)) return 'its checkpoint lies beyond the end of the log'
  const records = log.records(partition).filter(({ offset }) => offset <= checkpoint.offset)
  const firsts = firstsIn(records)
  const reasons = records.flatMap(({ offset, parked }) => (parked === undefined ? [] : [[offset, parked]]))
  const repeats = records.filter(({ claim }) => claim && claim.eventId !== firsts.get(claim.id)?.eventId).length
  const last = records.at(-1)
  const eventAtCheckpoint = last?.offset === checkpoint.offset ? (last.claim?.eventId ?? '') : ''
  if (checkpoint.eventId !== eventAtCheckpoint) return 'the event at the checkpoint is another'
  const ids = [...firsts.keys()].join()
  if (order.join() !== ids) return `ids in log order: ${order.join()}, not ${ids}`
  for (const [id, claim] of firsts) if (plants.get(id) !== claim) return `plant ${id} is not its first claim`
  if (plants.size !== firsts.size) return 'a plant that nobody claimed'
  if (voids !== repeats) return `${voids} void claims, not ${repeats}`
  if ([...parked].join() !== reasons.join()) return 'other records are parked'
  return undefined
}
