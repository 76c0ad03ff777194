import type { Offset, Partition } from '../plant/position.ts'
import { messageOf } from '../runtime/failures.ts'
import type { Lot } from './lots.ts'
import type { PlantCreated } from './plant-created-event.ts'
import type { ParkedRecord } from './plant-record.ts'

/** What a handler may watch: aborted when the consumer stops and waits no longer. */
export type HandlerContext = { signal: AbortSignal }

/** What a handler failed to take, for the last time: `attempts` times in a row in this process. */
export type DeadLetter = {
  events: readonly PlantCreated[]
  parked?: ParkedRecord
  error: unknown
  attempts: number
}

export type Handlers = {
  onPlantsCreated(events: PlantCreated[], context: HandlerContext): unknown
  onParked?: ((record: ParkedRecord, context: HandlerContext) => unknown) | undefined
  onDeadLetter?: ((letter: DeadLetter, context: HandlerContext) => unknown) | undefined
  maxAttempts: number
}

/**
 * Gives lots to handlers. Rejects when a handler fails, to be called again with what begins at the same offset;
 * after so many attempts the lot goes to `onDeadLetter`, if there is one, and is dealt with.
 */
export function createHandOver(handlers: Handlers, signal: AbortSignal) {
  const { onPlantsCreated, onParked, onDeadLetter, maxAttempts } = handlers
  const failed = new Map<Partition, { offset: Offset; attempts: number }>()

  /** What a handler that is not waited for any more comes to is no concern of anybody's. */
  async function waitFor(call: () => unknown): Promise<void> {
    signal.throwIfAborted()
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    // For this call alone: a promise that lives on would keep all that ever raced with it.
    signal.addEventListener('abort', abort)
    try {
      await Promise.race([(async () => call())(), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  function countFailure(partition: Partition, offset: Offset): number {
    const before = failed.get(partition)
    const attempts = before?.offset === offset ? before.attempts + 1 : 1
    failed.set(partition, { offset, attempts })
    return attempts
  }

  async function tryLot({ events, parked }: Lot): Promise<void> {
    if (parked === undefined) await waitFor(() => onPlantsCreated(events, { signal }))
    else await waitFor(() => onParked?.(parked, { signal }))
  }

  return async function handOver(partition: Partition, lot: Lot): Promise<void> {
    const { events, parked } = lot
    const offset = (parked ?? (events[0] as PlantCreated)).offset
    try {
      await tryLot(lot)
    } catch (error) {
      if (signal.aborted) throw error
      const attempts = countFailure(partition, offset)
      const what = `${parked === undefined ? 'the handler' : 'onParked'} failed at offset ${offset}, attempt ${attempts}`
      if (onDeadLetter === undefined || attempts < maxAttempts) {
        throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
      }
      const letter = { events, ...(parked !== undefined && { parked }), error, attempts }
      try {
        await waitFor(() => onDeadLetter(letter, { signal }))
      } catch (refusal) {
        throw new Error(`${what}, and so did onDeadLetter: ${messageOf(refusal)}`, { cause: refusal })
      }
    }
    failed.delete(partition)
  }
}
