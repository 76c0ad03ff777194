import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import { HttpError } from './errors.ts'

/** Response and request header that carries a log position; clients send it back as they got it. */
export const POSITION_HEADER = 'plants-position'

export type Position = { partition: Partition; offset: Offset }

const POSITION = /^(\d{1,4})-(\d{1,15})$/

export function formatPosition({ partition, offset }: Position): string {
  return `${partition}-${offset}`
}

/** Undefined when the client sent none. Throws an HttpError for one that no answer can have given. */
export function parsePosition(
  header: string | string[] | undefined,
  partitions: number,
): Position | undefined {
  if (header === undefined) return undefined
  const [, partition, offset] = POSITION.exec(String(header)) ?? []
  if (partition === undefined || offset === undefined || Number(partition) >= partitions) {
    throw new HttpError('invalidPosition')
  }
  try {
    return { partition: Number(partition) as Partition, offset: offsetOf(offset) }
  } catch {
    throw new HttpError('invalidPosition')
  }
}
