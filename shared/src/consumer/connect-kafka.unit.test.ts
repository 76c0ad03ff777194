import { expect, it, onTestFinished, vi } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { connectKafka } from './connect-kafka.ts'

class LogWithPrivateFields {
  readonly #lines: string[] = []
  lines = () => this.#lines
  debug(_details: unknown, message?: string): void {
    this.#lines.push(`debug ${message}`)
  }
  warn(_details: unknown, message?: string): void {
    this.#lines.push(`warn ${message}`)
  }
  info(): void {}
  error(): void {}
}

it('writes what kafkajs logs to a log with private fields, as warnings only after the first reply', async () => {
  const log = new LogWithPrivateFields()
  const { kafka } = await connectKafka(
    { brokers: ['localhost:1'], clientId: 'test', log, connectWithinMs: 0 },
    async (client) => {
      const logger = client.logger().namespace('test')
      logger.info('one')
      logger.error('two')
    },
  )
  kafka.logger().namespace('test').error('three')
  expect(log.lines()).toEqual(['debug kafka test: one', 'debug kafka test: two', 'warn kafka test: three'])
})

const HUNG = { brokers: ['localhost:1'], clientId: 'test', log: quietLog, connectWithinMs: 1_000 }
const noReply = () => new Promise<never>(() => {})

it('gives up a Kafka that hangs in the first attempt', async () => {
  onTestFinished(fakeTimers())
  const connected = expect(connectKafka(HUNG, noReply)).rejects.toMatchObject({
    code: 'kafka-unreachable',
    message: expect.stringMatching(/^Kafka does not reply \(no response\): check that brokers has its addresses/),
  })
  await vi.advanceTimersByTimeAsync(6_000)
  await connected
})

it('ends at the signal also while Kafka hangs', async () => {
  const stop = new AbortController()
  const connected = expect(connectKafka({ ...HUNG, signal: stop.signal }, noReply)).rejects.toThrow('enough')
  stop.abort(new Error('enough'))
  await connected
})
