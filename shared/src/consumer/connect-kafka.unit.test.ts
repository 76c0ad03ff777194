import { expect, it } from 'vitest'
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
