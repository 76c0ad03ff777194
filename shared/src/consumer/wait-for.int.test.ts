import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { inFile } from './first-claims/in-file.ts'

const COUNT = 20
const LAST = `0-${COUNT - 1}`

it('a wait ends when the handler has the plant, and at once in the next process', async () => {
  const topic = await openTopic(1)
  await topic.append(COUNT)
  const options = { groupId: newGroup(), firstClaims: inFile(join(temporaryFolder(), 'claims')) }
  const handling = Promise.withResolvers<void>()
  const seen: number[] = []
  const onPlantCreated = async ({ offset }: { offset: number }) => {
    if (offset === COUNT - 1) await handling.promise
    seen.push(offset)
  }
  const first = await consumeInto(topic.topic, { ...options, onPlantCreated })
  await first.waitFor(`0-${COUNT - 2}`)
  expect(seen).toHaveLength(COUNT - 1)
  const last = first.waitFor(LAST).then(() => seen.length)
  handling.resolve()
  expect(await last).toBe(COUNT)
  await first.stop()

  const second = await consumeInto(topic.topic, options)
  await second.waitFor(LAST)
  expect(second.events).toEqual([])
})

it('a wait ends when another member of the group has processed the position', async () => {
  const topic = await openTopic(2)
  const groupId = newGroup()
  const members = await Promise.all([1, 2].map(() => consumeInto(topic.topic, { groupId })))
  await eventually(() => expect(members.map(({ positions }) => positions().size)).toEqual([1, 1]))
  const byPartition = Map.groupBy(await topic.append(COUNT), ({ partition }) => partition)
  const token = [...byPartition].map(([partition, { length }]) => `${partition}-${length - 1}`).join()
  await Promise.all(members.map(({ waitFor }) => waitFor(token)))
  expect(members.flatMap(({ events }) => events)).toHaveLength(COUNT)
})

it('a wait fails for a position that the log does not have, by its signal, and when the consumer stops', async () => {
  const topic = await openTopic(1)
  await topic.append(1)
  const handling = Promise.withResolvers<void>()
  const consumer = await consumeInto(topic.topic, { onPlantCreated: () => handling.promise })
  await expect(consumer.waitFor('0-1')).rejects.toMatchObject({ code: 'invalid-position' })
  const aborted = consumer.waitFor('0-0', { signal: AbortSignal.timeout(1) })
  await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' })
  await topic.append(1)
  const later = expect(consumer.waitFor('0-1')).rejects.toMatchObject({ code: 'stopped' })
  const stopped = consumer.stop()
  handling.resolve()
  await Promise.all([stopped, later])
})

it('a wait while no broker can be reached goes on, and the consumer says what to check', async () => {
  const topic = await openTopic(1)
  const sockets: Socket[] = []
  let isAway = false
  const consumer = await consumeInto(topic.topic, {
    socketFactory({ host, port, onConnect }) {
      const socket = connect({ host, port: isAway ? 1 : port }, onConnect)
      sockets.push(socket)
      return socket
    },
  })
  await eventually(() => expect(consumer.positions().size).toBe(1))
  isAway = true
  for (const socket of sockets) socket.destroy()
  await topic.append(1)
  const waited = consumer.waitFor('0-0')
  const toCheck =
    /^checking positions: Kafka at .+ is not reachable: check that it runs and that KAFKA_BROKERS is right$/
  await eventually(() => expect(consumer.problems()).toContainEqual(expect.stringMatching(toCheck)))
  isAway = false
  await waited
})
