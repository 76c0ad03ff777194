import type { Kafka } from 'kafkajs'
import type { Offset, Partition } from '../plant/offset.ts'
import { PreconditionError } from '../process/failures.ts'
import type { Log } from '../process/log.ts'
import { type Repeated, repeat } from '../process/repeat.ts'
import { type Checkpoint, outOfBounds } from '../protocol/checkpoint.ts'
import { checkTopic, type TopicSettings } from './topic.ts'

const EVERY_MS = 30_000

/**
 * Checks again and again that the topic is still the one it was at the start: its settings, its size, and
 * that its log still holds what was passed. Reports a PreconditionError once when it is not.
 */
export function watchTopic(
  kafka: Kafka,
  settings: TopicSettings,
  passed: () => ReadonlyMap<Partition, Checkpoint>,
  log: Log,
  onHalt: (error: Error) => void,
): Repeated {
  async function check(): Promise<void> {
    const checkpoints = passed()
    const { ends } = await checkTopic(kafka, settings)
    for (const [partition, checkpoint] of checkpoints) {
      const reason = outOfBounds(checkpoint, ends[partition] as Offset)
      if (reason !== undefined) throw new PreconditionError(`${reason} (partition ${partition})`)
    }
  }
  return repeat(EVERY_MS, check, 'checking the topic', log, onHalt)
}
