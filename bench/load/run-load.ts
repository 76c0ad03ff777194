import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadOrder, MeasuredLoad } from './measured-load.ts'
import type { OpenLoad, OpenLoadOrder } from './open-loop.ts'
import type { ReadOrder } from './read-loop.ts'

/** What a load may take beyond its own times: to start, to have its last answers, to end. */
const MORE_MS = 60_000

export const runClosedLoop = (order: LoadOrder) => inOwnProcess<MeasuredLoad>('closed-loop.ts', order)
export const runOpenLoop = (order: OpenLoadOrder) => inOwnProcess<OpenLoad>('open-loop.ts', order)
export const runReads = (order: ReadOrder) => inOwnProcess<MeasuredLoad>('read-loop.ts', order)

async function inOwnProcess<Told>(file: string, order: LoadOrder): Promise<Told> {
  const child = fork(new URL(file, import.meta.url), { stdio: 'inherit', serialization: 'advanced' })
  const exited = once(child, 'exit')
  child.send(order)
  const limit = setTimeout(() => child.kill('SIGKILL'), order.warmUpMs + order.measuredMs + MORE_MS)
  const told = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  const [code, signal] = await exited
  clearTimeout(limit)
  if (told === undefined || code !== 0) throw new Error(`the load of ${file} ended with ${code ?? signal}`)
  return told[0] as Told
}
