import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { expect, inject, it, onTestFinished } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { plantctlOf } from '../../../tests/support/plantctl.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'

const PARTITIONS = 2
const event = (id: bigint) => newEvent(id, PARTITIONS)
const ids = Array.from({ length: 20 }, (_, n) => BigInt(n))
const idsOf = (partition: number) => ids.filter((id) => event(id).partition === partition)

it('every command that reads up to the end of the log names the partition that an open transaction ends', async () => {
  const { kafka, topic } = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const appender = createAppender(kafka, topic)
  const producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true })
  await Promise.all([appender.connect(), producer.connect()])
  const [first = 0n, second = 0n, third = 0n] = idsOf(1)
  await appender.append([event(idsOf(0)[0] as bigint), event(first)])
  const transaction = await producer.transaction()
  onTestFinished(async () => {
    await transaction.abort()
    await Promise.all([appender.close(), producer.disconnect()])
  })
  await transaction.send({ topic, messages: [event(second)] })
  await appender.append([event(third)])
  const plantctl = plantctlOf({ topic, partitions: PARTITIONS })
  const hidden = expect.stringMatching(/partition 1 .*offset 1\b.*open transaction/)

  expect(await plantctl('rebuild', '--from-empty')).toMatchObject({ code: 0, stderr: hidden })
  const exported = await plantctl('export')
  expect(exported).toMatchObject({ code: 0, stderr: hidden })
  expect(exported.stdout).toContain('"positions":"0-0,1-0"')
  for (const args of [['verify'], ['events'], ['export', '--at', '0-0', '--rest', 'now'], ['export', '--at', '1s']])
    expect(await plantctl(...args), args.join(' ')).toMatchObject({ code: 0, stderr: hidden })
  const { stdout } = await plantctl('status')
  expect(stdout.replace(/\s+/g, ' ')).toEqual(hidden)
})
