import { expect, inject, it } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { appendTo, createTestTopic } from '../../../tests/support/topic.ts'
import { plantctlOf } from '../../../tests/support/topic-plantctl.ts'

it('says of an unreadable claim whether an upgrade can help, and does not call it created', async () => {
  const { kafka, topic } = await createTestTopic(inject('kafkaBrokers'), 1)
  const event = (id: bigint) => newEvent(id, 1)
  const newer = event(2n)
  newer.headers['content-type'] = Buffer.from('application/json; version=9')
  await appendTo({ kafka, topic }, [{ ...event(1n), value: Buffer.from('not json') }, newer])
  const run = plantctlOf({ topic, partitions: 1 })
  const plantctl = async (...args: string[]) => (await run(...args)).stdout
  await plantctl('rebuild', '--from-empty')
  const lost = await plantctl('parked', 'show', '0-0')
  expect(lost).toMatch(/^\S+ {2}0-0 {2}claimed {3}1\n/)
  expect(lost).toMatch(/This release +cannot read it: .*\n.*no later release will: the id stays used/)
  expect(await plantctl('parked', 'show', '0-1')).toMatch(
    /claimed {3}2\n(.|\n)*a release that knows it.*parked reapply/,
  )
})
