import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it } from 'vitest'
import { deleteTopic } from '../../../tests/support/backups.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { mixedEvents } from '../../../tests/support/new-events.ts'
import { openReadModel } from '../../../tests/support/opened-read-model.ts'
import { failing, outputOf, startPlantctl } from '../../../tests/support/plantctl.ts'
import { pointerOf } from '../../../tests/support/stored-partition.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { appendTo, createTestTopic } from '../../../tests/support/topic.ts'
import { environmentOf, plantctlOf } from '../../../tests/support/topic-plantctl.ts'
import { readTruth } from '../../../tests/support/truth.ts'
import { readPlantsOfReadModel } from '../commands/export.ts'

const PARTITIONS = 3

/** An instant after all records that were written, and before all that follow. */
async function instantBetween(): Promise<string> {
  const now = Date.now()
  await eventually(() => expect(Date.now()).toBeGreaterThan(now))
  return new Date(now).toISOString()
}

const summaryOf = (exported: string) => JSON.parse(exported.trimEnd().split('\n').at(-1) ?? '').export

it('an export is the same from the log, from Redis, in a file, and as of an instant or a position', async () => {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const plantctl = (...args: string[]) => outputOf(plantctlOf(topic)(...args))
  const exportAt = (...at: string[]) => plantctl('export', '--at', ...at)
  await appendTo(topic, mixedEvents(120, 100, PARTITIONS))
  await plantctl('rebuild', '--from-empty')
  const whole = await plantctl('export')
  const plants = whole.match(/^\{"id".*\n/gm) ?? []
  const { states } = await readTruth(topic)
  const claims = states.flatMap((state, partition) =>
    [...state.plants.values()].map(({ offset }) => `${partition}-${offset}`),
  )
  expect(plants.map((line) => JSON.parse(line).position)).toEqual(claims)
  const { positions, ...summary } = summaryOf(whole)
  const sha256 = createHash('sha256').update(plants.join('')).digest('hex')
  expect(summary).toMatchObject({ plants: claims.length, sha256 })
  expect(summary.unreadable).toBeGreaterThan(0)
  expect(await plantctl('export', '--from-redis')).toBe(whole)
  const file = join(temporaryFolder(), 'plants.jsonl')
  expect(await plantctl('export', '--output', file)).toBe('')
  expect(readFileSync(file, 'utf8')).toBe(whole)
  const withoutRoom = startPlantctl(['export', '--output', file], environmentOf(topic), { fileBlocks: 0 })
  expect(await withoutRoom.ended).toMatchObject(
    failing(/^--output .*: file too large\. Correct it and run this again\n$/),
  )
  expect(readFileSync(file, 'utf8')).toBe(whole)

  const instant = await instantBetween()
  await appendTo(topic, mixedEvents(150, 150, PARTITIONS))
  const later = await plantctl('export')
  expect(summaryOf(later).plants).toBeGreaterThan(summary.plants)
  expect(await exportAt(instant)).toBe(whole)
  expect(await exportAt(positions)).toBe(whole)
  expect(await exportAt(await instantBetween())).toBe(later)
  expect(summaryOf(await exportAt('1d'))).toMatchObject({ plants: 0, positions: '' })

  const [first = ''] = positions.split(',')
  const { ends } = await checkTopic(topic.kafka, topic)
  expect(summaryOf(await exportAt(first, '--rest', 'empty'))).toMatchObject({ positions: first })
  const rest = ends.map((end, partition) => (first.startsWith(`${partition}-`) ? first : `${partition}-${end - 1}`))
  expect(summaryOf(await exportAt(first, '--rest', 'now')).positions).toBe(rest.join(','))
})

it('what the read model serves is exported after the log is lost', async () => {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const served = () => plantctlOf(topic)('export', '--from-redis')
  await appendTo(topic, mixedEvents(20, 20, PARTITIONS))
  await outputOf(plantctlOf(topic)('rebuild', '--from-empty'))
  const before = await outputOf(served())
  await deleteTopic(topic)
  expect(await outputOf(served())).toBe(before)
  const fewer = plantctlOf({ ...topic, partitions: PARTITIONS - 1 })
  expect(await fewer('export', '--from-redis')).toMatchObject(failing(/folded from a topic of 3 partitions/))
  const mistyped = plantctlOf({ ...topic, topic: `${topic.topic}x` })
  expect(await mistyped('export', '--from-redis')).toMatchObject(failing(/topic \S+x does not exist/))
})

it('an export of a read model that is emptied meanwhile fails', async () => {
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  await appendTo(topic, mixedEvents(20, 20, PARTITIONS))
  await outputOf(plantctlOf(topic)('rebuild', '--from-empty'))
  const { readModel, redis } = await openReadModel(topic)
  const empty = async () => void (await redis.del(pointerOf(topic.topic, 1 as Partition)))
  const exported = readPlantsOfReadModel({ ...topic, readModel }, empty)
  await expect(exported).rejects.toThrow('partition 1 fell back during the export')
})
