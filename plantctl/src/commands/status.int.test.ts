import { Redis } from 'ioredis'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { deleteTopic } from '../../../tests/support/backups.ts'
import { runPlantctl } from '../../../tests/support/plantctl.ts'
import { appendRow, WITH_TABLE } from '../../../tests/support/plants-table.ts'
import { openRaw } from '../../../tests/support/raw-connection.ts'
import { createTableTopic, createTestTopic } from '../../../tests/support/topic.ts'
import { environmentOf } from '../../../tests/support/topic-plantctl.ts'

const WAIT_MS = 20_000
const PARTITIONS = 2

async function openStore(settings = {}) {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const redis = new Redis(inject('redisUrl'))
  onTestFinished(() => redis.disconnect())
  const env = { ...environmentOf(topic), ...settings }
  return { ...topic, redis, status: (...args: string[]) => runPlantctl(['status', ...args], env) }
}

/** Joins a group by the new protocol, which kafkajs does not know: a request ConsumerGroupHeartbeat. */
async function joinByNewProtocol(groupId: string, topic: string): Promise<void> {
  const text = (value: string) => String.fromCharCode(value.length + 1) + value
  const header = '\0\x44\0\0\0\0\0\x01\0\x04test\0'
  const request = `${header}${text(groupId)}${text('')}\0\0\0\0\0\0\0\0\x75\x30\x02${text(topic)}\0\x01\0`
  const connection = openRaw(`http://${inject('kafkaBrokers')}`)
  connection.write(`\0\0\0${String.fromCharCode(request.length)}${request}`)
  await vi.waitFor(() => expect(connection.received().slice(13, 15)).toBe('\0\0'), WAIT_MS)
}

it('one key of another type makes one partition unreadable, and names the key', async () => {
  const { topic, redis, status } = await openStore()
  await redis.set(`{${topic}:1}:live`, 'a')
  await redis.set(`{${topic}:1}:a:parked`, 'text')
  await redis.hset(`{${topic}:1}:a:meta`, { checkpoint: '0', fold: '1', partitions: '2', parked: '1' })
  const { code, stdout } = await status('--json')
  expect(code).toBe(3)
  const found = JSON.parse(stdout)
  expect(found.problems).toContainEqual(
    expect.stringMatching(
      /^partition 1 of the read model cannot be read: its key parked is a string, not a hash.*Delete/,
    ),
  )
  expect(found.partitions).toMatchObject([
    { partition: 0, plants: 0, lag: 0 },
    { partition: 1, end: 0, plants: null, lag: null, bytes: null },
  ])
  expect((await status()).stdout).toMatch(/^ +1 .*\? .*unreadable$/m)
})

it('a deleted topic of which the read model has plants is to be restored, and the recipe is named', async () => {
  const { redis, status, ...store } = await openStore()
  await redis.set(`{${store.topic}:1}:live`, 'a')
  await redis.hset(`{${store.topic}:1}:a:meta`, { checkpoint: '0', fold: '1', partitions: '2' })
  await deleteTopic(store)
  const { problems } = JSON.parse((await status('--json')).stdout)
  expect(problems[0]).toBe(
    `topic ${store.topic} does not exist, but the read model was folded from it: ` +
      'correct KAFKA_BROKERS, or restore it: docs/how-to/back-up-and-restore.md',
  )
})

it('rows of plants that the log does not have are a problem, also without a read model', async () => {
  const { status, ...topic } = await openStore(WITH_TABLE)
  await appendRow(await createTableTopic(topic), 0)
  const { code, stdout } = await status('--json')
  expect(code).toBe(3)
  const { problems, table } = JSON.parse(stdout)
  expect(problems).toContainEqual(
    expect.stringMatching(/^the table \S+ has plants from beyond the end of the log in partition [01]: .* the table/),
  )
  expect(table).toMatchObject({ upTo: expect.arrayContaining([-1, 0]), behind: 0 })
})

it('a member of the new protocol in the group of the projectors is named', async () => {
  const { topic, status } = await openStore()
  // Also makes Kafka choose the coordinator of the group.
  expect((await status()).stdout).toContain('no projector is in the consumer group')
  await joinByNewProtocol(`${topic}-projector`, topic)
  const { problems } = JSON.parse((await status('--json')).stdout)
  expect(problems).toEqual([expect.stringMatching(/^a program with group\.protocol=consumer has joined .* end it/)])
})
