import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { openTopic } from '../support/open-topic.ts'
import { recreateTopic } from '../support/recreated-topic.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { runExample, startExample } from './run-example.ts'

// Promises of the Python example about its store, in addition to which claim was first.

const WAIT_MS = 60_000
const APPENDS = 300

async function openStore() {
  const topic = await openTopic()
  const file = join(temporaryFolder(), 'python.sqlite')
  const own = ['--store', file]
  const settings = { KAFKA_BROKERS: inject('kafkaBrokers'), PLANTS_TOPIC: topic.topic }
  return {
    ...{ topic, file },
    follow: () => startExample('python', [...own, 'follow'], settings),
    followToEnd: () => runExample('python', [...own, 'follow', '--until-end'], settings),
    async counts() {
      const lines = await runExample('python', [...own, 'counts'])
      return JSON.parse(lines.at(-1) ?? '')
    },
  }
}

it.each([
  ['is longer', 5],
  ['is so short that it lacks the position', 1],
])('does not mix another log of the same name with the one it knows, though it %s', async (_how, records) => {
  const { topic, file, followToEnd, counts } = await openStore()
  await topic.append(3)
  await followToEnd()
  await recreateTopic(topic, records)
  await expect(followToEnd()).rejects.toThrow(`Delete ${file}* to start again`)
  expect(await counts()).toMatchObject({ plants: 3 })
})

it('stops at a record whose headers its client cannot return, and names its position', async () => {
  const { topic, followToEnd } = await openStore()
  await topic.append(2)
  const writer = await openExactWriter(topic.kafka, topic.topic, undefined)
  onTestFinished(writer.close)
  const notUtf8 = Buffer.from([0xff, 0xfe])
  await writer.write(0 as Partition, [{ key: null, value: null, headers: [[notUtf8, null]] }], offsetOf(2))
  await expect(followToEnd()).rejects.toThrow('Partition 0 has a record at offset 2 with a header whose name')
})

it('stops when another process does not release the store', async () => {
  const { topic, file, followToEnd } = await openStore()
  await topic.append(3)
  await followToEnd()
  const other = new DatabaseSync(file)
  onTestFinished(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await expect(followToEnd()).rejects.toThrow('Another process has locked this store: one at a time.')
})

it('counts nothing twice when two processes fill a store', async () => {
  const { topic, follow, followToEnd, counts } = await openStore()
  await topic.append(3)
  await followToEnd()
  const both = await Promise.all([follow(), follow()])
  for (const one of both) await vi.waitFor(() => expect(one.output()).toContain('Following'), { timeout: WAIT_MS })
  for (let append = 0; append < APPENDS; append++) await topic.append(10)
  const once = { plants: 3 + 10 * APPENDS, unreadable: 0, voids: 0, repeated: 0, foreign: 0 }
  await vi.waitFor(async () => expect(await counts()).toEqual(once), { timeout: WAIT_MS })
})
