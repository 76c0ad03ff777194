import { setInterval } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { Offset, Partition } from '../plant/offset.ts'
import { PreconditionError } from '../process/failures.ts'
import type { Log } from '../process/log.ts'
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
) {
  const closing = new AbortController()

  async function watch(): Promise<void> {
    for await (const _ of setInterval(EVERY_MS, undefined, { signal: closing.signal })) {
      const checkpoints = passed()
      try {
        const { ends } = await checkTopic(kafka, settings)
        for (const [partition, checkpoint] of checkpoints) {
          const reason = outOfBounds(checkpoint, ends[partition] as Offset)
          if (reason !== undefined) return onHalt(new PreconditionError(`${reason} (partition ${partition})`))
        }
      } catch (error) {
        if (error instanceof PreconditionError) return onHalt(error)
        log.warn({ err: error }, 'the topic could not be checked; trying again')
      }
    }
  }

  const watching = watch().catch((error: unknown) => {
    if (!closing.signal.aborted) onHalt(error as Error)
  })
  return {
    async close(): Promise<void> {
      closing.abort()
      await watching
    },
  }
}
