import { expect, it } from 'vitest'
import { createTerminalLog } from './open-store.ts'

it('prints warnings once each, with the reason of an error unless the message has it, and no text of a client', () => {
  const printed: string[] = []
  const log = createTerminalLog((text) => printed.push(text))
  const raw = new Error("Stream isn't writeable")
  log.warn({ err: new Error('Broker not connected') }, 'the consumer crashed')
  log.warn({ err: new Error('Redis is away', { cause: raw }) }, 'redis: Redis is away')
  for (const _ of [1, 2]) log.warn({ partition: 3 }, 'a warning')
  log.error('an error')
  log.info('hidden')
  expect(printed).toEqual([
    '! the consumer crashed: Kafka is not reachable: check that it runs and that KAFKA_BROKERS is right\n',
    '! redis: Redis is away\n',
    '! a warning\n',
    '! an error\n',
  ])
})
