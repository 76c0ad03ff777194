import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { ReplyError } from 'ioredis'
import { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } from 'kafkajs'
import { expect, it } from 'vitest'
import { formatFailure } from './command.ts'

it.each([
  [new KafkaJSConnectionError('Broker not connected'), 'Kafka fails: Broker not connected. Check that'],
  [
    new KafkaJSNumberOfRetriesExceeded(new Error('timeout'), { retryCount: 5, retryTime: 1 }),
    'Kafka fails: timeout. Check that',
  ],
  [new Error('Command timed out'), 'Redis fails: Command timed out. Check that'],
  [new Error('Connection is closed.'), 'Redis fails: Connection is closed. Check that'],
  [new ReplyError('OOM command not allowed'), 'Redis fails: OOM command not allowed. Check that'],
])('%s is reported with its server and a remedy', (error, start) => {
  expect(formatFailure(error).startsWith(start)).toBe(true)
})

it('a message that names its remedy stays as it is', () => {
  const message = 'the topic is missing: create it again'
  expect(formatFailure(new PreconditionError(message))).toBe(message)
})
