import { expect, inject, it } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { appendTo, createTestTopic } from '../../../tests/support/topic.ts'
import { plantctlOf } from '../../../tests/support/topic-plantctl.ts'

it('says of unreadable claims whether an upgrade can help', async () => {
  const { kafka, topic } = await createTestTopic(inject('kafkaBrokers'), 1)
  const event = (id: bigint) => newEvent(id, 1)
  const newer = event(2n)
  newer.headers['content-type'] = Buffer.from('application/json; version=9')
  await appendTo({ kafka, topic }, [{ ...event(1n), value: Buffer.from('not json') }, newer])
  const run = plantctlOf({ topic, partitions: 1 })
  const plantctl = async (...args: string[]) => (await run(...args)).stdout
  await plantctl('rebuild', '--from-empty')
  const listed = await plantctl('parked', 'list')
  expect(listed).toMatch(/1 {2}its content-type .*\n {11}upgrade to a release that knows it, .*parked reapply\n/)
  expect(listed).toMatch(/1 {2}its payload .*\n {11}most likely no later release reads it: the id stays used/)
})
