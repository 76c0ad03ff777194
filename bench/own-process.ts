import { fork } from 'node:child_process'
import { once } from 'node:events'

/** The timer warning of the published kafkajs is known, so it is not printed. */
export const QUIET = ['--disable-warning=TimeoutNegativeWarning']

/**
 * Runs a module in a process of its own. The module receives one message, the order, and sends one, the result. The
 * process ends with this one, and is killed after `limitMs`. Throws when it ends without a result; stderr has the
 * reason.
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
