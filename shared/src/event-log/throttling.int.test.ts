import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { createAppender } from './append.ts'
import { createKafka } from './connection.ts'

const WAIT_MS = 50_000
/** Together some 20 kB: the quota holds the next fetch back for less than 20 s, and so the end of the test. */
const RECORDS = 80
const BYTES_PER_SECOND = 1_000
const ALTER_CLIENT_QUOTAS = 49
const NO_ERROR = 0
/** Where the error code of the first entity is in the response: after size, correlation id, throttle time and count. */
const ERROR_AT = 16

/** kafkajs has no such request. See AlterClientQuotasRequest.json of Kafka, version 0. */
async function limitFetches(broker: string, clientId: string): Promise<void> {
  const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
  const int32 = (value: number) => Buffer.concat([int16(value >>> 16), int16(value & 0xffff)])
  const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)])
  const rate = Buffer.alloc(8)
  rate.writeDoubleBE(BYTES_PER_SECOND)
  const one = int32(1)
  const header = [int16(ALTER_CLIENT_QUOTAS), int16(0), int32(0), text('test')]
  const entity = [one, text('client-id'), text(clientId)]
  const quota = [one, text('consumer_byte_rate'), rate, Buffer.from([0])]
  const request = Buffer.concat([...header, one, ...entity, ...quota, Buffer.from([0])])
  const [host, port] = broker.split(':')
  const socket = connect(Number(port), host)
  socket.write(Buffer.concat([int32(request.length), request]))
  const [response] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  expect(response.readInt16BE(ERROR_AT)).toBe(NO_ERROR)
}

it('names a quota of Kafka that makes the requests of a reader wait', async () => {
  const brokers = inject('kafkaBrokers')
  const topic = await createTestTopic(brokers, 1)
  const appender = createAppender(topic.kafka, topic.topic)
  await appender.append(Array.from({ length: RECORDS }, (_, n) => newEvent(BigInt(n), 1)))
  await appender.close()
  const clientId = `throttled-${randomUUID()}`
  await limitFetches(brokers.split(',')[0] as string, clientId)
  const { follower } = followLog({ ...topic, kafka: createKafka(brokers.split(','), clientId, quietLog) })
  await vi.waitFor(
    () =>
      expect(follower.problems()).toContainEqual(
        expect.stringMatching(/^kafka: a quota has held requests back for \d+ s.*: raise/),
      ),
    WAIT_MS,
  )
})
