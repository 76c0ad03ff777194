import { type LogPosition, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'

/** The problem of a batch that a reader cannot pass, with its remedy; the position is its first one. */
export const undecodableText = ({ partition, offset }: LogPosition): string =>
  `partition ${partition} cannot be read from offset ${offset} on: the batch there is damaged, or has more than 64 MiB. Make ` +
  'another replica the leader, or restore the topic from a backup'

export class UndecodableError extends PreconditionError {
  readonly partition: Partition

  constructor(position: LogPosition) {
    super(undecodableText(position), 'undecodable-batch')
    this.partition = position.partition
  }
}

const METADATA = /^undecodable batch at (\d{1,15})$/

/** The metadata that a reader commits with its offset. */
export const undecodableMetadata = (offset: Offset | undefined): string =>
  offset === undefined ? '' : `undecodable batch at ${offset}`

/** The position that this metadata names. */
export function undecodableOf(partition: Partition, metadata: string): LogPosition[] {
  const [, offset] = METADATA.exec(metadata) ?? []
  return offset === undefined ? [] : [{ partition, offset: offsetOf(offset) }]
}
