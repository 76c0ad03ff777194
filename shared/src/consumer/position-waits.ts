import type { KnownEnds } from '../event-log/log-identity.ts'
import { BEFORE_FIRST, formatPosition, type LogPosition, type Offset, type Partition } from '../plant/position.ts'
import { type ConsistencyToken, parseToken } from '../protocol/consistency-token.ts'
import { abortable } from '../runtime/time.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'

type Wait = { token: ConsistencyToken; resolve(): void; reject(reason: unknown): void }

const SHOWN_CHARACTERS = 60

/** The waits for positions in a topic with this number of partitions. */
export function createPositionWaits(partitions: number) {
  const reached = new Map<Partition, Offset>()
  const waits = new Set<Wait>()
  let failure: PlantConsumerError | undefined

  const isPassed = (partition: Partition, offset: Offset) => (reached.get(partition) ?? BEFORE_FIRST) >= offset
  const isOver = (token: ConsistencyToken) => [...token].every(([partition, offset]) => isPassed(partition, offset))

  function tokenOf(text: string): ConsistencyToken {
    const token = typeof text === 'string' ? parseToken(text, partitions) : undefined
    if (token !== undefined) return token
    const shown = String(text).slice(0, SHOWN_CHARACTERS)
    throw new PlantConsumerError(
      'invalid-position',
      `"${shown}" is not a position of this topic, which has ${partitions} partitions: pass on a Plants-Position header ` +
        'of the api of this log, unchanged',
    )
  }

  return {
    /** Notes that everything up to this offset of a partition is processed. Never moves back. */
    passed(partition: Partition, offset: Offset): void {
      if (isPassed(partition, offset)) return
      reached.set(partition, offset)
      for (const { token, resolve } of waits) if (isOver(token)) resolve()
    },

    /** Resolves when all positions of a token are passed. Rejects as `PlantConsumer.waitFor` does. */
    async wait(text: string, signal?: AbortSignal): Promise<void> {
      const token = tokenOf(text)
      signal?.throwIfAborted()
      if (failure !== undefined) throw failure
      if (isOver(token)) return
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const wait: Wait = { token, resolve, reject }
      waits.add(wait)
      await abortable(promise, signal).finally(() => waits.delete(wait))
    },

    /** The partitions in which a wait is not over. */
    waitedFor: (): Set<Partition> =>
      new Set(
        [...waits].flatMap(({ token }) =>
          [...token].flatMap(([partition, offset]) => (isPassed(partition, offset) ? [] : [partition])),
        ),
      ),

    /**
     * Refuses the positions that are not before the ends of the log. The ends are read after the waits have begun: a
     * position of this log is in the log before a client has it.
     */
    async check(readEnds: () => Promise<KnownEnds['ends']>): Promise<void> {
      const begun = [...waits]
      if (begun.length === 0) return
      const ends = await readEnds()
      for (const { token, reject } of begun) {
        for (const [partition, offset] of token) {
          const end = ends[partition]
          // An unknown end proves nothing.
          if (end !== undefined && offset >= end) reject(notInLog({ partition, offset }, end))
        }
      }
    },

    /** Rejects all waits, also later ones. */
    end(reason: PlantConsumerError): void {
      failure = reason
      for (const { reject } of waits) reject(reason)
    },
  }
}

function notInLog(position: LogPosition, end: Offset): PlantConsumerError {
  return new PlantConsumerError(
    'invalid-position',
    `${formatPosition(position)} is not a position of this log, whose partition ${position.partition} ends before ` +
      `offset ${end}: check that api and consumer use the same Kafka and topic`,
  )
}
