import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { type Appender, createAppender } from './append.ts'
import { createKafka, type Kafka } from './connection.ts'

const WAIT_MS = 50_000
/** Together some 20 kB: the quota holds the next fetch back for less than 20 s, and so the end of the test. */
const RECORDS = 80
const BYTES_PER_SECOND = 1_000
const ALTER_CLIENT_QUOTAS = 49
const NO_ERROR = 0
/** Where the error code of the first entity is in the response: after size, correlation id, throttle time and count. */
const ERROR_AT = 16

/** kafkajs has no such request. See AlterClientQuotasRequest.json of Kafka, version 0. */
async function limit(quota: string, clientId: string, allowed: number): Promise<void> {
  const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
  const int32 = (value: number) => Buffer.concat([int16(value >>> 16), int16(value & 0xffff)])
  const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)])
  const rate = Buffer.alloc(8)
  rate.writeDoubleBE(allowed)
  const one = int32(1)
  const header = [int16(ALTER_CLIENT_QUOTAS), int16(0), int32(0), text('test')]
  const entity = [one, text('client-id'), text(clientId)]
  const limited = [one, text(quota), rate, Buffer.from([0])]
  const request = Buffer.concat([...header, one, ...entity, ...limited, Buffer.from([0])])
  const [host, port] = inject('kafkaBrokers').split(',')[0]?.split(':') ?? []
  const socket = connect(Number(port), host)
  socket.write(Buffer.concat([int32(request.length), request]))
  const [response] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  expect(response.readInt16BE(ERROR_AT)).toBe(NO_ERROR)
}

async function openThrottled(quota: string, allowed = BYTES_PER_SECOND) {
  const brokers = inject('kafkaBrokers')
  const clientId = `throttled-${randomUUID()}`
  await limit(quota, clientId, allowed)
  return { ...(await createTestTopic(brokers, 1)), throttled: createKafka(brokers.split(','), clientId, quietLog) }
}

async function appendTo(kafka: Kafka, topic: string): Promise<Appender> {
  const appender = createAppender(kafka, topic)
  onTestFinished(appender.close)
  await appender.append(Array.from({ length: RECORDS }, (_, n) => newEvent(BigInt(n), 1)))
  return appender
}

it('names a quota of Kafka that makes the requests of a reader wait', async () => {
  const { throttled, ...log } = await openThrottled('consumer_byte_rate')
  await appendTo(log.kafka, log.topic)
  const { follower } = followLog({ ...log, kafka: throttled })
  await vi.waitFor(
    () =>
      expect(follower.problems()).toContainEqual(
        expect.stringMatching(/^kafka: a quota has held requests back for \d+ s.*: raise consumer_byte_rate or/),
      ),
    WAIT_MS,
  )
})

it.each([
  ['producer_byte_rate', BYTES_PER_SECOND],
  // Kafka lets no request wait for longer than 1 s by it.
  ['request_percentage', 0.001],
])('names the quota %s of Kafka that makes appends wait', async (quota, allowed) => {
  const { throttled, topic } = await openThrottled(quota, allowed)
  const appender = await appendTo(throttled, topic)
  expect(appender.throttling()).toEqual([
    expect.stringMatching(/^kafka: a quota holds appends back for \d+ s: raise producer_byte_rate or/),
  ])
})
