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

const noReply = () => new Promise<never>(() => {})

it('gives up a Kafka that hangs in the first attempt, and at the signal at once', async () => {
  onTestFinished(fakeTimers())
  const hung = { brokers: ['localhost:1'], clientId: 'test', log: quietLog, connectWithinMs: 1_000 }
  const connected = expect(connectKafka(hung, noReply)).rejects.toMatchObject({
    code: 'kafka-unreachable',
    message: expect.stringMatching(/^Kafka does not reply \(no response\): check that brokers has its addresses/),
  })
  const stop = new AbortController()
  const stopped = expect(connectKafka({ ...hung, signal: stop.signal }, noReply)).rejects.toThrow('enough')
  stop.abort(new Error('enough'))
  await stopped
  await vi.advanceTimersByTimeAsync(6_000)
  await connected
})

it('tries again until its time is over while no broker replies, and warns once', async () => {
  const warn = vi.fn()
  const away = { brokers: ['127.0.0.1:1'], clientId: 'test', log: { ...quietLog, warn }, connectWithinMs: 300 }
  const request = vi.fn(() => Promise.reject(new Error('refused')))
  await expect(connectKafka(away, request)).rejects.toMatchObject({ code: 'kafka-unreachable' })
  expect(request.mock.calls.length).toBeGreaterThan(1)
  expect(warn.mock.calls).toEqual([[expect.anything(), expect.stringContaining('127.0.0.1:1')]])
})
