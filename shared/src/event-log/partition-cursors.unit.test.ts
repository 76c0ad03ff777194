import { randomUUID } from 'node:crypto'
import { expect, it, vi } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { EventId } from '../plant/event-id.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint, Delivery } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { createPartitionCursors, type RecordSink } from './partition-cursors.ts'

const [P, Q] = [0 as Partition, 1 as Partition]
const at = (offset: number, eventId: EventId | '' = ''): Checkpoint => ({ offset: offset as Offset, eventId })

function claimAt(offset: number): LogRecord {
  const plant = newPlant(BigInt(offset))
  const claim = { offset: offset as Offset, id: plant.id, eventId: randomUUID() as EventId, plant }
  return { offset: claim.offset, claim }
}

function deliveryOf(requested: number, last: number): Delivery {
  const records = Array.from({ length: last - requested + 1 }, (_, n) => claimAt(requested + n))
  return { requested: requested as Offset, last: last as Offset, records }
}

type Sink = Partial<RecordSink> & { log?: Log; time?: Time }
const ENDS = [100, 100] as Offset[]

/** The cursors of these partitions, at offset 4 unless `checkpointOf` says otherwise, and where they were sought to. */
function openCursors(partitions: number, { log = quietLog, time = systemTime, ...sink }: Sink) {
  const [sought, halts]: [[Partition, Offset][], Error[]] = [[], []]
  const cursors = createPartitionCursors(
    {
      checkpointOf: async () => at(4),
      onRecords: async (_, __, next) => next,
      ...sink,
      onHalt: (error) => halts.push(error),
    },
    { pause() {}, seek: (...to) => sought.push(to), ends: async () => ENDS },
    { partitions, time, log },
  )
  cursors.assign(allPartitions(partitions))
  return { ...cursors, sought, halts }
}

async function openCursor(sink: Sink) {
  const { deliver, sought, ...others } = openCursors(1, sink)
  await eventually(() => expect(sought).toEqual([[P, 4]]))
  const offsets = () => sought.map(([, offset]) => offset)
  return { ...others, deliver: (delivery: Delivery) => deliver(P, () => delivery), sought: offsets }
}

/** The waits before the next attempts, as they are logged. */
function loggedWaits() {
  const waits: number[] = []
  const warn = ({ retryInMs }: { retryInMs: number }) => void waits.push(retryInMs)
  return { waits, log: { ...quietLog, warn } as unknown as Log }
}

it('a sink is called once at a time, also when its partition is assigned again during a call', async () => {
  const calls: PromiseWithResolvers<Checkpoint>[] = []
  const onRecords = () => {
    const call = Promise.withResolvers<Checkpoint>()
    calls.push(call)
    return call.promise
  }
  const { assign, revoke, deliver, sought } = openCursors(1, { onRecords })
  await eventually(() => expect(sought).toHaveLength(1))
  const delivered = [deliver(P, () => deliveryOf(5, 9))]
  await eventually(() => expect(calls).toHaveLength(1))
  for (const assignments of [2, 3]) {
    revoke()
    assign([P])
    await eventually(() => expect(sought).toHaveLength(assignments))
    delivered.push(deliver(P, () => deliveryOf(5, 9)))
  }
  await new Promise(setImmediate)
  expect(calls).toHaveLength(1)
  calls[0]?.resolve(at(9))
  await eventually(() => expect(calls).toHaveLength(2))
  calls[1]?.resolve(at(9))
  expect(await Promise.all(delivered)).toEqual([undefined, undefined, 9])
})

it('a sink that has passed later records moves the cursor there, and the event there is compared', async () => {
  const records = [claimAt(15), claimAt(16)] as const
  const [known] = records
  const { deliver, sought, halts } = await openCursor({ rest: async () => at(15, known.claim?.eventId) })
  expect(await deliver(deliveryOf(5, 9))).toBe(15)
  expect(await deliver({ ...deliveryOf(15, 16), records })).toBe(16)
  expect([sought(), halts]).toEqual([[4, 15], []])
})

it('another leader must have the event of the checkpoint', async () => {
  const { deliver, ledBy, sought, halts } = await openCursor({})
  ledBy(P, 1)
  await deliver(deliveryOf(4, 9))
  for (const leaderEpoch of [1, 1, 2]) ledBy(P, leaderEpoch)
  // Fetched from the former leader.
  await deliver(deliveryOf(10, 12))
  expect([sought(), halts]).toEqual([[4, 4, 9, 9], []])
  await deliver(deliveryOf(9, 12))
  expect(halts).toMatchObject([{ fault: 'another-log' }])
})

it('an emptied read model is filled, though the log had not confirmed its earlier checkpoint', async () => {
  const checkpoints = [at(4, randomUUID() as EventId), at(-1)]
  const { deliver, outOfRange, sought, halts } = await openCursor({
    checkpointOf: async () => checkpoints.shift() as Checkpoint,
  })
  // A broker that lags leads to the checkpoint being read again.
  await outOfRange(P)
  expect(await deliver(deliveryOf(0, 9))).toBe(9)
  expect([sought(), halts]).toEqual([[4, 0], []])
})

it.each([
  ['after the checkpoint', 5],
  ['that has the event of the checkpoint', 4],
])('a batch %s that cannot be decoded is fetched again, until it can', async (_where, offset) => {
  const { waits, log } = loggedWaits()
  const event = claimAt(4)
  const checkpointOf = async () => at(4, event.claim?.eventId)
  const { deliver, undecodable, sought, halts } = await openCursor({ checkpointOf, log })
  const batch = { offset: offset as Offset, codec: 'LZ4', cause: new RangeError('damaged') }
  const damaged = { ...deliveryOf(offset, offset), records: [], undecodable: batch }
  for (const seeks of [1, 2, 3]) {
    await vi.waitFor(() => expect(sought()).toHaveLength(seeks), 5_000)
    // A fetch starts at the checkpoint, so its event may come alone, and the batch in the next fetch.
    if (offset > 4) await deliver({ ...deliveryOf(4, 4), records: [event] })
    if (seeks > 1) expect(undecodable()).toEqual([{ partition: P, offset }])
    expect(await deliver(damaged)).toBe(4)
  }
  expect([waits, sought()]).toEqual([[250, 500, 1_000], Array(3).fill(4)])
  expect(await deliver({ ...deliveryOf(4, 9), records: [event, claimAt(9)] })).toBe(9)
  expect([undecodable(), halts]).toEqual([[], []])
})

it('a sink that throws a PreconditionError halts the reader', async () => {
  const failure = new PreconditionError('a wrong setting')
  const { deliver, halts } = await openCursor({ onRecords: () => Promise.reject(failure) })
  await deliver(deliveryOf(5, 9))
  expect(halts).toEqual([failure])
})

it('a sink that fails is called again after growing waits, and delays no other partition', async () => {
  const { waits, log } = loggedWaits()
  let isFailing = true
  const { deliver, problems, sought, halts } = openCursors(2, {
    async onRecords(partition, _records, next) {
      // An error of another Kafka, to which the sink writes.
      if (partition === P && isFailing) throw Object.assign(new Error('not now'), { type: 'NOT_ENOUGH_REPLICAS' })
      return next
    },
    ...{ log, time: { ...systemTime, after: (_ms, callback) => systemTime.after(0, callback) } },
  })
  await eventually(() => expect(sought).toHaveLength(2))
  for (const seeks of [3, 4, 5]) {
    expect(await deliver(P, () => deliveryOf(5, 9))).toBe(4)
    await eventually(() => expect(sought).toHaveLength(seeks))
  }
  expect(problems()).toEqual(['partition 0: records are not applied: not now'])
  expect(await deliver(Q, () => deliveryOf(5, 9))).toBe(9)
  isFailing = false
  expect(await deliver(P, () => deliveryOf(5, 9))).toBe(9)
  expect(problems()).toEqual([])
  isFailing = true
  await deliver(P, () => deliveryOf(10, 11))
  expect([waits, halts]).toEqual([[250, 500, 1_000, 250], []])
})
