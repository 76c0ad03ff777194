import { inOwnProcess } from '../own-process.ts'
import type { LoadOrder, MeasuredLoad } from './measured-load.ts'
import type { OpenLoad, OpenLoadOrder } from './open-loop.ts'
import type { ReadOrder } from './read-loop.ts'

/** How long a load may take beyond its own times: to start, to get the last responses, and to end. */
const MORE_MS = 60_000

export const runClosedLoop = (order: LoadOrder) => run<MeasuredLoad>('closed-loop.ts', order)
export const runOpenLoop = (order: OpenLoadOrder) => run<OpenLoad>('open-loop.ts', order)
export const runReads = (order: ReadOrder) => run<MeasuredLoad>('read-loop.ts', order)

function run<Result>(file: string, order: LoadOrder): Promise<Result> {
  return inOwnProcess(new URL(file, import.meta.url), order, order.warmUpMs + order.measuredMs + MORE_MS)
}
