import { randomUUID } from 'node:crypto'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, FIRST, offsetOf, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { idsFrom } from '../../../../tests/support/client.ts'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { noTail } from '../../../../tests/support/no-tail.ts'
import { openReadModel } from '../../../../tests/support/opened-read-model.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { createClaimIndex } from '../claim-index/claim-index.ts'
import { type Cursor, firstCursor } from './cursor.ts'
import { createPlantLister, LIST_LIMITS, type PlantList } from './list-plants.ts'

const PARTITIONS = 12
const DEADLINE_MS = 50
const WINDOW_BYTES = 12 * 1_048_576

/**
 * The lister of an api on a real Redis, with a log that the test writes. A written claim goes to the windows at once,
 * and to the read model with `project`.
 */
async function openLister({ limits = LIST_LIMITS } = {}) {
  const { readModel, redis, keyOf, apply } = await openReadModel({ partitions: PARTITIONS })
  const checkpoints = new Map(allPartitions(PARTITIONS).map((partition) => [partition, BEFORE_LOG]))
  const folded = [...checkpoints.values()]
  let sink: RecordSink | undefined
  const claimIndex = createClaimIndex({
    ...{ readModel, log: quietLog, time: systemTime, checkpoints, windowMaxBytes: WINDOW_BYTES },
    ends: folded.map(() => FIRST),
    follow(given) {
      sink = given
      return noTail
    },
    onHalt: (error) => expect.unreachable(error.message),
  })
  onTestFinished(claimIndex.close)
  const log: Claim[][] = folded.map(() => [])

  const reads: string[] = []
  const counted = {
    ...readModel,
    listEach: (spans: Parameters<typeof readModel.listEach>[0]) => {
      reads.push(`list of ${spans.length}`)
      return readModel.listEach(spans)
    },
  }
  const lister = createPlantLister(counted, claimIndex, { time: systemTime, deadlineMs: DEADLINE_MS, limits })

  return {
    ...{ claimIndex, log, reads },

    /** Appends a claim to the log and delivers it to the tail. */
    async write(id: bigint): Promise<Claim> {
      const { id: plantId, ...plant } = newPlant(id)
      const partition = partitionOf(Buffer.from(String(id)), PARTITIONS)
      const claims = log[partition] as Claim[]
      const offset = offsetOf(claims.length)
      const claim = { offset, id: plantId, eventId: randomUUID() as Claim['eventId'], plant }
      claims.push(claim)
      await sink?.onRecords(partition, [{ offset, claim }], { offset, eventId: claim.eventId }, BEFORE_LOG)
      return claim
    },

    /** Applies the claims that the read model does not have yet. */
    async project(): Promise<void> {
      for (const [partition, claims] of log.entries()) {
        const from = folded[partition] as Checkpoint
        const records = claims.slice(from.offset + 1).map((claim) => ({ offset: claim.offset, claim }))
        if (records.length === 0) continue
        const next = checkpointAt(offsetOf(claims.length - 1), records)
        folded[partition] = await apply(partition as Partition, from, { records, next })
      }
    },

    /** Makes the entry of a plant unreadable. */
    async damage(id: bigint): Promise<void> {
      const plants = await keyOf(partitionOf(Buffer.from(String(id)), PARTITIONS), 'plants')
      await redis.hset(plants, String(id), 'no entry')
    },

    list: (limit: number, cursor = firstCursor(PARTITIONS)) => lister.list({ limit, cursor, token: new Map() }),
  }
}

const idsOf = (list: PlantList) => (list.is === 'page' ? list.claims.map(({ id }) => id) : list.is)
const firstIds = (log: readonly Claim[][]) =>
  log
    .flatMap((claims) => claims.filter((claim, n) => claims.findIndex(({ id }) => id === claim.id) === n))
    .map(({ id }) => id)

async function writeAll(store: Awaited<ReturnType<typeof openLister>>, count: number): Promise<void> {
  for (const id of idsFrom(0, count)) await store.write(id)
}

/** A lister of a log with plants of these first ids, all of them in the read model. */
async function openProjected(count: number, options?: Parameters<typeof openLister>[0]) {
  const store = await openLister(options)
  await writeAll(store, count)
  await store.project()
  return store
}

describe('the reads of a page', () => {
  it('are one of the partition in the cursor, and one of as many as fill the page or were listed to the end', async () => {
    const store = await openProjected(600)
    await store.list(5)
    expect(store.reads.splice(0)).toEqual(['list of 1'])
    await store.list(200)
    expect(store.reads.splice(0)).toEqual(['list of 1', 'list of 3'])
    const listed = store.log.map(({ length }, partition) => (partition === 9 ? 0 : length))
    await store.list(100, { partition: 9 as Partition, listed })
    expect(store.reads).toEqual(['list of 1', 'list of 11'])
  })

  it.each([
    ['all others, when each has few plants', LIST_LIMITS.maxPlantsPerRead, ['list of 11']],
    ['as many as can hold maxPlantsPerRead plants', 300, ['list of 3', 'list of 3', 'list of 3', 'list of 2']],
  ])('are then of %s', async (_what, maxPlantsPerRead, reads) => {
    const store = await openProjected(40, { limits: { ...LIST_LIMITS, maxPlantsPerRead } })
    const list = await store.list(100)
    expect(idsOf(list)).toEqual(firstIds(store.log))
    expect(list).not.toHaveProperty('next')
    expect(store.reads).toEqual(['list of 1', ...reads])
  })
})

describe('a page', () => {
  it.each([1, 7, 20, 33, 1_000])('of %s plants is never longer, and the next page follows it', async (limit) => {
    const store = await openProjected(60)
    await writeAll(store, 90)
    const ids = firstIds(store.log)
    let cursor: Cursor | undefined = firstCursor(PARTITIONS)
    const listed: unknown[] = []
    while (cursor !== undefined) {
      const page: PlantList = await store.list(limit, cursor)
      if (page.is !== 'page') return expect.unreachable()
      expect(page.claims.length).toBe(Math.min(limit, ids.length - listed.length))
      listed.push(...page.claims.map(({ id }) => id))
      cursor = page.next
    }
    expect(listed).toEqual(ids)
  })

  it.each([
    ['an entry of the page', false],
    ['the entry of a claim in the window', true],
  ])('ends before a partition where %s is unreadable, and fails if it is empty', async (_what, isListed) => {
    const store = await openProjected(60)
    for (const window of allPartitions(PARTITIONS).map(store.claimIndex.window)) window.dropBefore(window.next)
    const listed = store.log.map((claims, partition) => (isListed && partition === 5 ? claims.length : 0))
    await writeAll(store, 60)
    await store.damage(store.log[5]?.[0]?.id as PlantId)
    const first = await store.list(100, { partition: 0 as Partition, listed })
    expect(idsOf(first)).toEqual(firstIds(store.log.slice(0, 5)))
    if (first.is !== 'page') return expect.unreachable()
    expect(first.next?.partition).toBe(5)
    expect(await store.list(100, first.next)).toMatchObject({ is: 'coverageGap', cause: expect.any(EntryError) })
  })
})
