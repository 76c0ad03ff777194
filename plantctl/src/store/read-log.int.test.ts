import { expect, inject, it } from 'vitest'
import { openKafkaProxy } from '../../../tests/support/kafka-proxy.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { readLogEnds } from './read-log.ts'

const LIST_OFFSETS = 2

it('the ends of the log are read again after a failure, as while leaders are elected', async () => {
  const [topic, proxy] = [await createTestTopic(inject('kafkaBrokers'), 2), await openKafkaProxy()]
  const suffered = proxy.spoilNext(LIST_OFFSETS, 'loses the connection')
  expect(await readLogEnds({ ...topic, kafka: proxy.kafka, log: quietLog })).toEqual([0, 0])
  await suffered
})
