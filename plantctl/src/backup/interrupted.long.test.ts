import { randomInt } from 'node:crypto'
import { cpSync, existsSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { ExtendedAdmin } from '@plant-store/shared/kafka-client/kafkajs.ts'
import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFailed, vi } from 'vitest'
import { createRandom, type Random } from '../../../tests/simulation/random.ts'
import { contentOf, deleteTopic } from '../../../tests/support/backups.ts'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { startPlantctl } from '../../../tests/support/plantctl.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createTestTopic, type TestTopic } from '../../../tests/support/topic.ts'
import { environmentOf, plantctlOf } from '../../../tests/support/topic-plantctl.ts'

const PARTITIONS = 3
const PLANTS = 300
const KILLS = 10
/** The last one takes several transactions. */
const GAPS = [1, 1, 1, 2, 3, 50, 3_000, 25_000]
const BATCH_MAX = 30
const AT_ONCE = { timeout: 60_000, interval: 1 }

/** Draws by a seed, which a test that fails prints. */
function draw(): Random {
  const seed = randomInt(2 ** 31)
  onTestFailed(() => console.error(`seed ${seed}`))
  return createRandom(seed)
}

/** Appends plants from an id on, and a gap after each few of them: aborted and empty transactions. */
async function fill(log: TestTopic, firstId: number, random: Random): Promise<void> {
  const { kafka, topic, partitions } = log
  const { topicId } = await checkTopic(kafka, log)
  const writer = await openExactWriter(kafka, topic, topicId)
  let gaps = 0
  const events = Array.from({ length: PLANTS }, (_, n) => newEvent(BigInt(firstId + n), partitions))
  for (const partition of allPartitions(partitions)) {
    const left = events.filter((event) => event.partition === partition)
    let end: number = await writer.takeOver(partition)
    while (left.length > 0) {
      const batch = left.splice(0, 1 + random.below(BATCH_MAX))
      await writer.write(partition, batch, end as Offset)
      end += batch.length
      const gap = GAPS[gaps++ % GAPS.length] as number
      await writer.skip(partition, end as Offset, (end + gap) as Offset)
      end += gap
    }
  }
  await writer.close()
}

it(`a backup that was killed ${KILLS} times is that of one that was not`, async () => {
  const random = draw()
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const plantctl = plantctlOf(topic)
  const [earlier, whole, killed] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  await fill(topic, 0, random)
  expect(await plantctl('backup', '--to', earlier)).toMatchObject({ code: 0 })
  await fill(topic, PLANTS, random)
  cpSync(earlier, whole, { recursive: true })
  const lockOf = (folder: string) =>
    existsSync(join(folder, 'lock')) ? readFileSync(join(folder, 'lock'), 'utf8') : ''
  /** Starts a backup, and waits until it has the lock, which the run before may have left. */
  async function startBackup(folder: string) {
    const before = lockOf(folder)
    const run = startPlantctl(['backup', '--to', folder], environmentOf(topic))
    await vi.waitFor(() => expect(['', before]).not.toContain(lockOf(folder)), AT_ONCE)
    return run
  }
  const { ended } = await startBackup(whole)
  const startedAt = performance.now()
  expect(await ended).toMatchObject({ code: 0 })
  const lastsMs = performance.now() - startedAt
  const [before, after] = [contentOf(earlier), contentOf(whole)]

  cpSync(earlier, killed, { recursive: true })
  for (let kills = 0; kills < KILLS; ) {
    const run = await startBackup(killed)
    await delay(random.below(lastsMs))
    run.kill('SIGKILL')
    if ((await run.ended).code === null) kills++
    const content = contentOf(killed)
    const isComplete = content.ends.join() === after.ends.join()
    expect(content).toEqual(isComplete ? after : before)
    if (isComplete) cpSync(earlier, killed, { recursive: true })
    // As if a minute had passed, after which a lock is abandoned.
    if (lockOf(killed) !== '') utimesSync(join(killed, 'lock'), 0, 0)
  }
  expect(await plantctl('backup', '--to', killed)).toMatchObject({ code: 0 })
  expect(contentOf(killed)).toEqual(after)
  expect(await plantctl('backup', 'check', killed)).toMatchObject({ code: 0 })
})

/** The sum of the ends of the partitions, also of what is in open transactions. */
async function writtenIn(admin: ExtendedAdmin, topic: string): Promise<number> {
  return (await admin.fetchWrittenOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0)
}

it(`a restore that was killed ${KILLS} times is complete when it succeeds`, async () => {
  const random = draw()
  const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  const plantctl = plantctlOf(topic)
  const [first, second] = [temporaryFolder(), temporaryFolder()]
  await fill(topic, 0, random)
  expect(await plantctl('backup', '--to', first)).toMatchObject({ code: 0 })
  const { ends } = contentOf(first)
  const total = ends.reduce((sum: number, end: number) => sum + end, 0)
  const moments = Array.from({ length: KILLS }, () => random.below(total)).sort((a, b) => a - b)
  await deleteTopic(topic)

  // It looks at the topic before there is one.
  const kafka = createImpatientKafka(inject('kafkaBrokers'), { requestTimeout: 5_000, retry: { retries: 0 } })
  await withAdmin(kafka, async (admin) => {
    for (const moment of moments) {
      const run = startPlantctl(['restore', '--from', first], environmentOf(topic))
      const written = () => writtenIn(admin, topic.topic)
      await vi.waitFor(async () => expect(await written()).toBeGreaterThanOrEqual(moment), AT_ONCE)
      run.kill('SIGKILL')
      expect(await run.ended).toMatchObject({ code: null })
    }
  })
  await expect(checkTopic(topic.kafka, topic)).rejects.toThrow('is being restored and may lack records')
  expect(await plantctl('restore', '--from', first)).toMatchObject({ code: 0 })
  expect(await plantctl('backup', '--to', second)).toMatchObject({ code: 0 })
  expect(contentOf(second)).toEqual(contentOf(first))
})
