import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { appendTo, createTestTopic } from '../../../tests/support/topic.ts'
import { kafkajsModule } from '../kafka-client/kafkajs.ts'
import { createAppender } from './append.ts'
import { createKafka } from './connection.ts'

const Encoder = kafkajsModule('src/protocol/encoder.js')

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
  const entity = new Encoder().writeString('client-id').writeString(clientId)
  const limited = new Encoder().writeString(quota).writeDouble(allowed).writeBoolean(false)
  const request = new Encoder()
    .writeInt16(ALTER_CLIENT_QUOTAS)
    .writeInt16(0)
    .writeInt32(0)
    .writeString('test')
    .writeArray([new Encoder().writeArray([entity]).writeArray([limited])])
    .writeBoolean(false)
  const [host, port] = inject('kafkaBrokers').split(',')[0]?.split(':') ?? []
  const socket = connect(Number(port), host)
  socket.write(new Encoder().writeInt32(request.size()).writeEncoder(request).buffer)
  const [response] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  expect(response.readInt16BE(ERROR_AT)).toBe(NO_ERROR)
}

async function openThrottled(quota: string, allowed: number) {
  const brokers = inject('kafkaBrokers')
  const clientId = `throttled-${randomUUID()}`
  await limit(quota, clientId, allowed)
  return { ...(await createTestTopic(brokers, 1)), throttled: createKafka(brokers.split(','), clientId, quietLog) }
}

const records = () => Array.from({ length: RECORDS }, (_, n) => newEvent(BigInt(n), 1))

it('names a quota of Kafka that makes the requests of a reader wait', async () => {
  const { throttled, ...log } = await openThrottled('consumer_byte_rate', BYTES_PER_SECOND)
  await appendTo(log, records())
  const { follower } = followLog({ ...log, kafka: throttled })
  const named = /^kafka: a quota has held requests back for \d+ s.*: raise consumer_byte_rate or/
  await vi.waitFor(() => expect(follower.problems()).toContainEqual(expect.stringMatching(named)), WAIT_MS)
})

it.each([
  ['producer_byte_rate', BYTES_PER_SECOND],
  // Kafka lets no request wait for longer than 1 s by it.
  ['request_percentage', 0.001],
])('names the quota %s of Kafka that makes appends wait', async (quota, allowed) => {
  const { throttled, topic } = await openThrottled(quota, allowed)
  const appender = createAppender(throttled, topic)
  onTestFinished(appender.close)
  await appender.append(records())
  const named = /^kafka: a quota holds appends back for \d+ s: raise producer_byte_rate or/
  expect(appender.throttling()).toEqual([expect.stringMatching(named)])
})
