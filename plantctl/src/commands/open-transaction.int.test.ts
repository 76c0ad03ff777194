import { expect, inject, it, onTestFinished } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTransactional } from '../../../tests/support/other-producers.ts'
import { appendTo, createTestTopic } from '../../../tests/support/topic.ts'
import { plantctlOf } from '../../../tests/support/topic-plantctl.ts'

const PARTITIONS = 2
const event = (id: bigint) => newEvent(id, PARTITIONS)
const ids = Array.from({ length: 20 }, (_, n) => BigInt(n))
const idsOf = (partition: number) => ids.filter((id) => event(id).partition === partition)

it('every command that reads up to the end of the log names the partition that an open transaction ends', async () => {
  const { kafka, topic } = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const [first = 0n, second = 0n, third = 0n] = idsOf(1)
  await appendTo({ kafka, topic }, [event(idsOf(0)[0] as bigint), event(first)])
  const transaction = await (await openTransactional(kafka)).transaction()
  onTestFinished(() => transaction.abort())
  await transaction.send({ topic, messages: [event(second)] })
  await appendTo({ kafka, topic }, [event(third)])
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
