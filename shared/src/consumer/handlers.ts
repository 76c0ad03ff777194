import type { Offset, Partition } from '../plant/position.ts'
import { messageOf } from '../runtime/failures.ts'
import { abortable } from '../runtime/time.ts'
import type { Batch } from './batches.ts'
import type { ParkedRecord, PlantCreated } from './plant-record.ts'

/** Passed to each handler. `signal` is aborted when the consumer stops and no longer waits for handlers. */
export type HandlerContext = { signal: AbortSignal }

/** The input that a handler has failed to process for the last time: `attempts` times in a row in this process. */
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

/** The handler of a consumer's options. Exactly one of the two functions is set. */
export type PlantsHandler<Context extends unknown[]> = {
  onPlantCreated?: ((event: PlantCreated, ...context: Context) => unknown) | undefined
  onPlantsCreated?: ((events: PlantCreated[], ...context: Context) => unknown) | undefined
  maxBatch: number
}

/** The handler as a function of at most `maxEvents` events. */
export function plantsHandlerOf<Context extends unknown[]>(handler: PlantsHandler<Context>) {
  const { onPlantCreated, onPlantsCreated, maxBatch } = handler
  return {
    maxEvents: onPlantsCreated === undefined ? 1 : maxBatch,
    onPlants: (events: PlantCreated[], ...context: Context): unknown =>
      onPlantsCreated === undefined
        ? onPlantCreated?.(events[0] as PlantCreated, ...context)
        : onPlantsCreated(events, ...context),
  }
}

/**
 * Passes batches to handlers. The returned function rejects when a handler fails; the caller retries with the batch
 * that starts at the same offset. After `maxAttempts` failures the batch goes to `onDeadLetter`, if there is one, and
 * counts as processed.
 */
export function createHandlerCaller(handlers: Handlers, signal: AbortSignal) {
  const { onPlantsCreated, onParked, onDeadLetter, maxAttempts } = handlers
  const failed = new Map<Partition, { offset: Offset; attempts: number }>()

  /** Waits for a handler until the signal is aborted; what the handler does afterwards is ignored. */
  async function waitFor(handler: () => unknown): Promise<void> {
    signal.throwIfAborted()
    await abortable(Promise.try(handler), signal)
  }

  function countFailure(partition: Partition, offset: Offset): number {
    const before = failed.get(partition)
    const attempts = before?.offset === offset ? before.attempts + 1 : 1
    failed.set(partition, { offset, attempts })
    return attempts
  }

  return async function callHandler(partition: Partition, { events, parked }: Batch): Promise<void> {
    const { offset } = parked ?? (events[0] as PlantCreated)
    try {
      // A copy: a handler may take the events off its list.
      if (parked === undefined) await waitFor(() => onPlantsCreated([...events], { signal }))
      else await waitFor(() => onParked?.(parked, { signal }))
    } catch (error) {
      if (signal.aborted) throw error
      const attempts = countFailure(partition, offset)
      const failure = `${parked === undefined ? 'the handler' : 'onParked'} failed at offset ${offset}, attempt ${attempts}`
      if (onDeadLetter === undefined || attempts < maxAttempts) {
        throw new Error(`${failure}: ${messageOf(error)}`, { cause: error })
      }
      const letter = { events, ...(parked !== undefined && { parked }), error, attempts }
      try {
        await waitFor(() => onDeadLetter(letter, { signal }))
      } catch (cause) {
        throw new Error(`${failure}, and onDeadLetter failed as well: ${messageOf(cause)}`, { cause })
      }
    }
    failed.delete(partition)
  }
}
