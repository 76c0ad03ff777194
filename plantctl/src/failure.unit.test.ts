import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { ReplyError } from 'ioredis'
import { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } from 'kafkajs'
import { expect, it } from 'vitest'
import { failureInWords } from './failure.ts'

it.each([
  [new KafkaJSConnectionError('Broker not connected'), 'Kafka fails: Broker not connected. See whether'],
  [
    new KafkaJSNumberOfRetriesExceeded(new Error('timeout'), { retryCount: 5, retryTime: 1 }),
    'Kafka fails: timeout. See whether',
  ],
  [new Error('Command timed out'), 'Redis fails: Command timed out. See whether'],
  [new Error('Connection is closed.'), 'Redis fails: Connection is closed. See whether'],
  [new ReplyError('OOM command not allowed'), 'Redis fails: OOM command not allowed. See whether'],
])('%s is said to be of whom it is, with what to do', (error, words) => {
  expect(failureInWords(error).startsWith(words)).toBe(true)
})

it('what says so itself is left as it is', () => {
  const message = 'the topic is gone: make it anew'
  expect(failureInWords(new PreconditionError(message))).toBe(message)
})
