import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'

/**
 * A plant as a line of JSON. The id is text, as it is in the event: many readers of JSON lose digits of an int64. The
 * same log makes the same bytes, whoever reads it and when.
 */
export function plantLine(partition: Partition, { id, plant, offset, eventId }: Claim): string {
  const { name, tag } = plant ?? {}
  const told = plant === undefined ? { unreadable: true } : { name, tag }
  return `${JSON.stringify({ id: String(id), ...told, position: `${partition}-${offset}`, event: eventId })}\n`
}
