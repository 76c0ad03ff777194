import { randomUUID } from 'node:crypto'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { PartitionMeta } from '@plant-store/shared/read-model/read-model.ts'
import { expect, it } from 'vitest'
import { createClock } from '../../../../tests/simulation/clock.ts'
import { newPlant, plantWith } from '../../../../tests/support/generated-plants.ts'
import { noTail } from '../../../../tests/support/no-tail.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { createClaimIndex } from './claim-index.ts'

const P = 0 as Partition
const REST_MS = 50
const READING_MS = 1_000
let lastId = 0n

type OwnClaim = Omit<Claim, 'offset'>

function newClaim(): OwnClaim {
  const { id, name } = newPlant(++lastId)
  return { id, eventId: randomUUID() as EventId, plant: plantWith({ name }) }
}

/** A claim index, by default of one partition; the test is the read model, the tail and the clock. */
function openClaimIndex({ partitions = 1, windowMaxBytes = 1_048_576, isRead = true, end = 0 } = {}) {
  const clock = createClock()
  let sink = {} as RecordSink
  let readModelAt: Checkpoint = BEFORE_LOG
  const unreadable = new Set<number>()
  const reloaded: unknown[] = []
  const claimIndex = createClaimIndex({
    readModel: {
      async meta(partition) {
        if (unreadable.has(partition)) throw new Error('a reason')
        return { checkpoint: readModelAt } as PartitionMeta
      },
      lookUpEach: () => expect.unreachable(),
    },
    follow(given) {
      sink = given
      return {
        ...noTail,
        assigned: () => new Map([[P, BEFORE_LOG]]),
        lag: () => 0,
        reloadCheckpoints: (seen) => reloaded.push(...seen.keys()),
      }
    },
    log: quietLog,
    time: clock.timeOf({ name: 'api', alive: true, redis: { partitions: [] } as never }),
    checkpoints: new Map(isRead ? allPartitions(partitions).map((partition) => [partition, BEFORE_LOG]) : []),
    ends: Array.from({ length: partitions }, () => end as Offset),
    windowMaxBytes,
    onHalt: (error) => expect.unreachable(error.message),
  })
  const window = () => claimIndex.window(P)
  const append = (claim: OwnClaim, offset: number | undefined) =>
    claimIndex.appended(P, claim, offset as Offset | undefined)
  const checkpointAt = (offset: number) => ({ offset: offset as Offset, eventId: randomUUID() as EventId })
  /** Delivers this claim by the tail, by default at the next offset. */
  function deliver(claim: OwnClaim, offset: number = window().next): Promise<Checkpoint> {
    const next = { offset: offset as Offset, eventId: claim.eventId }
    const record = { offset: next.offset, claim: { offset: next.offset, ...claim } }
    return sink.onRecords(P, [record], next, checkpointAt(offset - 1))
  }
  async function advance(ms: number): Promise<void> {
    clock.advance(ms)
    await afterCallbacks()
  }
  /** Has the read model at this offset at the next reading. */
  async function project(offset: number): Promise<Checkpoint> {
    readModelAt = checkpointAt(offset)
    await advance(READING_MS)
    return readModelAt
  }
  /** Starts a rest of the tail; `continued` is the checkpoint where it ends. */
  async function startRest() {
    const rest: { continued?: Checkpoint } = {}
    void sink.rest?.(P).then((checkpoint) => {
      rest.continued = checkpoint
    })
    await afterCallbacks()
    return rest
  }
  const bounds = () => [window().start, window().next]
  return {
    ...{ ...claimIndex, window, bounds, append, deliver, advance, project, startRest },
    ...{ unreadable, reloaded },
  }
}

const afterCallbacks = () => new Promise<void>((resolve) => setImmediate(resolve))

it.each<[string, (index: ReturnType<typeof openClaimIndex>) => unknown]>([
  ['a read needs it', ({ needTail }) => needTail(0)],
  ['an acknowledgement adds nothing', ({ append }) => append(newClaim(), 7)],
  ['others write', ({ deliver }) => deliver(newClaim())],
])('a rest of the tail ends, and none starts for as long, when %s', async (_what, wake) => {
  const index = openClaimIndex()
  index.append(newClaim(), 0)
  const rest = await index.startRest()
  expect(rest.continued).toBeUndefined()
  await wake(index)
  await afterCallbacks()
  expect(rest.continued).toBeDefined()
  expect((await index.startRest()).continued).toBeDefined()
  await index.advance(REST_MS)
  expect((await index.startRest()).continued).toBeUndefined()
})

/** An index whose last reading says that others write 5,000 records a second. */
async function openShared() {
  const index = openClaimIndex()
  await index.project(-1)
  await index.project(5_000)
  return index
}

it('while others write much the tail rests until a reading, and skips what the read model has', async () => {
  const { advance, startRest, project, bounds } = await openShared()
  const rest = await startRest()
  await advance(READING_MS - 2)
  expect(rest.continued).toBeUndefined()
  const checkpoint = await project(9_000)
  expect([rest.continued, bounds()]).toEqual([checkpoint, [9_001, 9_001]])
})

it('while others write much, a rest ends only for what has waited for 100 ms', async () => {
  const { needTail, append, startRest } = await openShared()
  const rest = await startRest()
  needTail(99)
  append(newClaim(), 12_000)
  await afterCallbacks()
  expect(rest.continued).toBeUndefined()
  needTail(100)
  await afterCallbacks()
  expect(rest.continued?.offset).toBe(5_000)
})

it('when the read model stands still, the tail follows again', async () => {
  const { advance, startRest, append } = await openShared()
  await advance(READING_MS)
  append(newClaim(), 12_000)
  expect((await startRest()).continued).toBeDefined()
})

it('the window drops what the read model had at the reading before', async () => {
  const { append, project, bounds } = openClaimIndex()
  for (let offset = 0; offset < 10; offset++) append(newClaim(), offset)
  await project(3)
  expect(bounds()).toEqual([0, 10])
  await project(7)
  expect(bounds()).toEqual([4, 10])
})

it('a window without room for the records since then keeps the gap, which it reports', async () => {
  const { append, project, bounds, problems, closeGap } = openClaimIndex({ windowMaxBytes: 1_000 })
  for (let offset = 0; offset < 10; offset++) append(newClaim(), offset)
  await project(9)
  await project(9)
  await project(4)
  expect(bounds()).toEqual([10, 10])
  expect(problems()).toEqual([expect.stringContaining('coverage gap: the read model of partition 0 is at offset 4')])
  expect(await closeGap(P)).toBe(false)
})

it.each([
  [[], [], []],
  [[1], [], ['partition 1: reading the checkpoints: a reason']],
  [[0, 2], [], ['partitions 0, 2: reading the checkpoints: a reason']],
  [[0, 1, 2], ['reading the checkpoints: a reason'], []],
])('when partitions %j cannot be read, the problems are %j and the notices %j', async (unread, reasons, noticed) => {
  const { unreadable, advance, problems, notices } = openClaimIndex({ partitions: 3 })
  for (const partition of unread) unreadable.add(partition)
  await advance(READING_MS)
  expect([problems(), notices()]).toEqual([reasons, noticed])
})

it.each([4, 20])('a window of a partition that was never read starts again after checkpoint %i', async (at) => {
  const index = openClaimIndex({ isRead: false, end: 10 })
  index.unreadable.add(P)
  await index.project(at)
  index.append(newClaim(), 10)
  expect([index.bounds(), index.reloaded]).toEqual([[10, 11], []])
  index.unreadable.delete(P)
  await index.project(at)
  expect([index.bounds(), index.reloaded]).toEqual([[at + 1, at + 1], [P]])
})
