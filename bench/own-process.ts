import { fork } from 'node:child_process'
import { once } from 'node:events'

/** What kafkajs does to its timers, as it comes from npm, is no news. */
export const QUIET = ['--disable-warning=TimeoutNegativeWarning']

/**
 * What a process of its own answers to an order: a module that takes one message, and sends one. It ends with this process, and is killed
 * when it has not ended in time. Throws when it ends without an answer, after it has said why on stderr.
 */
export async function inOwnProcess<Result>(module: URL, order: object, limitMs: number): Promise<Result> {
  const child = fork(module, { stdio: 'inherit', serialization: 'advanced', execArgv: QUIET })
  const kill = () => child.kill('SIGKILL')
  const limit = setTimeout(kill, limitMs)
  process.once('exit', kill)
  const exited = once(child, 'exit')
  child.send(order)
  const message = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  const [code, signal] = await exited
  clearTimeout(limit)
  process.off('exit', kill)
  if (message === undefined || code !== 0)
    throw new Error(`the process of ${module.pathname} ended with ${code ?? signal}`)
  return message[0] as Result
}
