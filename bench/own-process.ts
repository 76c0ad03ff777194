import { fork } from 'node:child_process'
import { once } from 'node:events'

const STOP_GRACE_MS = 3_000
/** The timer warning of the published kafkajs is known, so it is not printed. */
const QUIET = '--disable-warning=TimeoutNegativeWarning'

/**
 * Runs a module in a separate process, and resolves with its reply to `order`. It ends with this process. Throws when it
 * ends without a reply, also because it was killed after `limitMs`; stderr has the reason.
 */
export async function startOwnProcess<Reply>(module: URL, order: object, limitMs: number, execArgv: string[] = []) {
  const child = fork(module, { stdio: 'inherit', serialization: 'advanced', execArgv: [QUIET, ...execArgv] })
  const exited = once(child, 'exit')
  const killAfter = (ms: number) => setTimeout(() => child.kill('SIGKILL'), ms)
  child.send(order)
  const limit = killAfter(limitMs)
  const message = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  clearTimeout(limit)
  if (message === undefined) throw new Error(`${module.pathname} ended without a result; its reason is above`)
  return {
    ...{ reply: message[0] as Reply, pid: child.pid as number },
    async stop(): Promise<void> {
      const kill = killAfter(STOP_GRACE_MS)
      if (child.connected) child.disconnect()
      await exited
      clearTimeout(kill)
    },
  }
}

/** The reply of a module that ends after it. */
export async function inOwnProcess<Reply>(module: URL, order: object, limitMs: number): Promise<Reply> {
  const { reply, stop } = await startOwnProcess<Reply>(module, order, limitMs)
  await stop()
  return reply
}

/** The side of the module: replies to its order, and ends when the process that started it disconnects or ends. */
export async function replyToOrder<Order, Reply extends object | string>(
  work: (order: Order) => Promise<Reply>,
): Promise<void> {
  process.once('disconnect', () => process.exit())
  const [order] = (await once(process, 'message')) as [Order]
  process.send?.(await work(order))
}
