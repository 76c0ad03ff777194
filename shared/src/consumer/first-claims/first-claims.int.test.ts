import { randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../../tests/support/followed-log.ts'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { openTopic } from '../../../../tests/support/open-topic.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import type { EventId } from '../../plant/event-id.ts'
import { plantCreated } from '../../plant/plant-created.ts'
import { after, allPartitions, type Offset, type Partition } from '../../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../../protocol/checkpoint.ts'
import { emptyPartition, fold } from '../../protocol/first-wins.ts'
import { systemTime } from '../../runtime/time.ts'
import type { FirstClaims, OpenFirstClaims } from './first-claims.ts'
import { inFile } from './in-file.ts'
import { inMemory } from './in-memory.ts'

// Both kinds on a real log. As a consumer does, each test reads from the checkpoint of the first claims or of the
// delivered records, whichever is lower.

const PARTITIONS = 3
const IDS = 150n
const WAIT = { timeout: 30_000 }
const NOTHING = new Map<Partition, Checkpoint>()

type Log = Awaited<ReturnType<typeof openLog>>

async function openLog() {
  const topic = await openTopic(PARTITIONS)
  let events = 0
  return {
    ...topic,
    /** Claims each id once more, with a new event. Only the claims of the first call are creations. */
    async claimAll(): Promise<void> {
      const records = Array.from({ length: Number(IDS) }, (_, id) =>
        plantCreated({ ...newPlant(BigInt(id)), name: `${events++}` }, randomUUID() as EventId, PARTITIONS),
      )
      await topic.appendRecords(records)
    },
  }
}

async function openOn(log: Log, claims: FirstClaims): Promise<OpenFirstClaims> {
  const opened = await claims.open({ ...log, log: quietLog, time: systemTime })
  onTestFinished(() => opened.close())
  return opened
}

/** Reads the log into first claims until it is closed. */
function consume(log: Log, claims: OpenFirstClaims, delivered = NOTHING) {
  const created: { partition: Partition; offset: Offset }[] = []
  const read = new Map<Partition, Offset>()
  const followed = followLog(log, {
    async checkpointOf(partition) {
      const begun = delivered.get(partition) ?? BEFORE_LOG
      const known = await claims.checkpointOf(partition)
      return known.offset < begun.offset ? known : begun
    },
    async onRecords(partition, records, next) {
      const first = await claims.firstAmong(partition, records, next)
      const due = first.filter(({ offset }) => offset > (delivered.get(partition) ?? BEFORE_LOG).offset)
      created.push(...due.map(({ offset }) => ({ partition, offset })))
      read.set(partition, after(next.offset))
      return next
    },
  })
  return {
    created,
    halts: followed.halts,
    /** Resolves when all partitions together are read up to `count` records, by this consumer or before. */
    untilRead: (count: number) =>
      vi.waitFor(() => {
        expect(followed.halts).toEqual([])
        expect([...read.values()].reduce<number>((sum, next) => sum + next, 0)).toBe(count)
      }, WAIT),
    close: () => followed.follower.close(),
  }
}

/** The expected result: the position of each creation, by the protocol's fold of the log. */
async function creations(log: Log, count: number): Promise<{ partition: Partition; offset: Offset }[]> {
  const { delivered } = followLog(log)
  await vi.waitFor(() => expect(delivered.flatMap(({ records }) => records).length).toBe(count), WAIT)
  return allPartitions(PARTITIONS).flatMap((partition) => {
    const calls = delivered.filter((call) => call.partition === partition)
    const { plants } = fold(
      emptyPartition(),
      calls.flatMap(({ records }) => records),
    )
    return [...plants.values()].map(({ offset }) => ({ partition, offset }))
  })
}

const sorted = (places: { partition: Partition; offset: Offset }[]) =>
  places.map(({ partition, offset }) => `${partition}/${String(offset).padStart(6, '0')}`).sort()

describe('first claims on a real log', () => {
  it('in memory: are read from its beginning, whatever was delivered before', async () => {
    const log = await openLog()
    await log.claimAll()
    await log.claimAll()
    const truth = sorted(await creations(log, 300))
    const first = consume(log, await openOn(log, inMemory()))
    await first.untilRead(300)
    expect(sorted(first.created)).toEqual(truth)
    // Another process, after the group has read everything: it delivers nothing, and finds that later claims are void.
    const ends = new Map(allPartitions(PARTITIONS).map((p) => [p, endOf(first.created, p)]))
    const second = consume(log, await openOn(log, inMemory()), ends)
    await second.untilRead(300)
    await log.claimAll()
    await second.untilRead(450)
    expect(second.created).toEqual([])
  })

  it('in a file: continue from it, with the same result when it is behind, ahead or lost', async () => {
    const log = await openLog()
    const path = join(temporaryFolder(), 'claims.db')
    await log.claimAll()
    const claims = await openOn(log, inFile(path))
    const first = consume(log, claims)
    await first.untilRead(150)
    await first.close()
    await claims.close()
    copyFileSync(path, `${path}.behind`)
    await log.claimAll()
    const truth = sorted(await creations(log, 300))

    // Ahead: the same creations are delivered again, as after a crash before a commit.
    const ahead = await openOn(log, inFile(path))
    const again = consume(log, ahead)
    await again.untilRead(300)
    expect(sorted(again.created)).toEqual(truth)
    await again.close()
    await ahead.close()

    // Behind what was delivered: the log between is read, and not delivered.
    const delivered = new Map(allPartitions(PARTITIONS).map((p) => [p, endOf(again.created, p)]))
    const behind = consume(log, await openOn(log, inFile(`${path}.behind`)), delivered)
    await behind.untilRead(300)
    expect(behind.created).toEqual([])

    const lost = consume(log, await openOn(log, inFile(`${path}.new`)), delivered)
    await lost.untilRead(300)
    await log.claimAll()
    await lost.untilRead(450)
    expect(lost.created).toEqual([])
  })
})

function endOf(created: { partition: Partition; offset: Offset }[], partition: Partition): Checkpoint {
  const offsets = created.filter((place) => place.partition === partition).map(({ offset }) => offset)
  return { offset: Math.max(...offsets) as Offset, eventId: '' }
}
