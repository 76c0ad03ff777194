import { setImmediate as nextTurn } from 'node:timers/promises'
import { createDelivery } from '@plant-store/shared/consumer/delivery.ts'
import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { createGroupPosition } from '@plant-store/shared/consumer/group-position.ts'
import { createHandlerCaller } from '@plant-store/shared/consumer/handlers.ts'
import type { PlantRecord } from '@plant-store/shared/consumer/plant-record.ts'
import type { GroupOffset } from '@plant-store/shared/event-log/groups.ts'
import { createPartitionCursors } from '@plant-store/shared/event-log/partition-cursors.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint, Delivery } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { quietLog } from '../../support/quiet-log.ts'
import type { Random } from '../random.ts'
import { ALL, PARTITIONS, type World } from './world.ts'

const MAX_FETCHED = 6
const stored = { offset: FIRST, key: null, value: null, headers: {}, timestampMs: 0 }

export type SimulatedConsumer = ReturnType<typeof startConsumer>

/** A member of the group. The deciding code is the product's; the group, its fetches and time are models. */
export function startConsumer(world: World, random: Random, firstClaims: OpenFirstClaims) {
  let alive = true
  let isHeld = false
  /** The group generation that this member knows. */
  let generation = 0
  let clockMs = 0
  let assigned: readonly Partition[] = []
  const next = new Map<Partition, Offset>()
  const paused = new Set<Partition>()
  const seeking = new Set<Partition>()
  const working = new Set<Partition>()

  /** Waits; never resolves in a killed process. */
  async function aWhile(turns: number): Promise<void> {
    await world.aWhile(turns)
    if (!alive) await new Promise(() => {})
  }
  const fails = (probability: number) => !world.isCalm && random.chance(probability)

  const time: Time = {
    // Sometimes longer than the time limit of a delivery.
    now: () => (clockMs += random.chance(0.1) ? 3_000 : 1),
    after(_ms, callback) {
      let isDue = true
      void aWhile(5).then(() => isDue && callback())
      return () => {
        isDue = false
      }
    },
  }

  const group = createGroupPosition({
    partitions: PARTITIONS,
    start: ALL.map(() => FIRST),
    async read() {
      await aWhile(4)
      if (fails(0.05)) throw new Error('Kafka is unreachable')
      return new Map(world.committed)
    },
    async commit(offsets: ({ partition: Partition } & GroupOffset)[]) {
      const mine = generation
      await aWhile(4)
      if (mine !== world.generation()) throw new Error('an old group generation')
      for (const { partition, ...offset } of offsets) world.commit(partition, offset)
    },
  })
  const callHandler = createHandlerCaller(
    {
      async onPlantsCreated(events) {
        const { partition } = events[0] as { partition: Partition }
        if (working.has(partition)) world.broken(`two handlers at once in ${partition}`)
        working.add(partition)
        await aWhile(12)
        working.delete(partition)
        if (fails(0.1)) throw new Error('not now')
        for (const event of events) world.handled(event)
      },
      maxAttempts: 1,
    },
    new AbortController().signal,
  )
  const delivery = createDelivery({
    firstClaims,
    startOf: group.startOf,
    callHandler,
    time,
    log: quietLog,
    batching: { maxEvents: 1 + random.below(3), deliverParked: false },
    mayContinue: (partition) => !isHeld && positions.assigned()?.has(partition) === true,
  })
  const positions = createPartitionCursors<PlantRecord>(
    {
      checkpointOf: delivery.checkpointOf,
      onRecords: delivery.onRecords,
      onHalt: ({ message }) => world.broken(`a consumer ends with its own log: ${message}`),
    },
    {
      pause: (partition) => void paused.add(partition),
      seek(partition, offset) {
        next.set(partition, offset)
        seeking.add(partition)
        paused.delete(partition)
      },
      async ends() {
        await aWhile(4)
        return world.log.ends()
      },
    },
    { partitions: PARTITIONS, time, log: quietLog },
  )

  function deliveryOf(delivered: Delivery): Delivery<PlantRecord> {
    const records = delivered.records.map((record: LogRecord) => ({ ...record, stored }))
    return { ...delivered, records }
  }

  async function fetch(partition: Partition): Promise<void> {
    seeking.delete(partition)
    const fetched = world.log.fetch(partition, next.get(partition) ?? FIRST, 1 + random.below(MAX_FETCHED))
    if (fetched === undefined) return
    const taken = positions.deliver(partition, () => (seeking.has(partition) ? undefined : deliveryOf(fetched)))
    // Not always awaited: the next assignment may start while this delivery is in progress.
    const reached = await (random.chance(0.7) ? taken : aWhile(20).then(() => undefined))
    if (reached === undefined || reached < fetched.last || seeking.has(partition)) return
    next.set(partition, after(fetched.last))
  }

  async function follow(partition: Partition): Promise<void> {
    while (alive) {
      await nextTurn()
      if (!isHeld && assigned.includes(partition) && !paused.has(partition)) await fetch(partition)
    }
  }

  function delivered(): [Partition, Checkpoint | undefined][] {
    return [...(positions.assigned() ?? [])].map(([partition, checkpoint]) => [
      partition,
      checkpoint && delivery.deliveredOf(partition),
    ])
  }

  async function commitOften(): Promise<void> {
    while (alive) {
      await nextTurn()
      await aWhile(20)
      const passed = delivered().filter((entry): entry is [Partition, Checkpoint] => entry[1] !== undefined)
      await group.commit(new Map(passed)).catch(() => {})
    }
  }

  for (const partition of ALL) void follow(partition)
  void commitOften()
  return {
    /** A rebalance. A member that does not take part keeps an old group generation and does not notice. */
    assign(partitions: readonly Partition[]): void {
      generation = world.generation()
      assigned = partitions
      seeking.clear()
      positions.assign(partitions)
    },
    async pauseAWhile(): Promise<void> {
      isHeld = true
      await world.aWhile(10)
      isHeld = false
    },
    isDone: () => delivered().every(([partition, passed]) => passed?.offset === world.log.end(partition) - 1),
    kill(): void {
      alive = false
      positions.close()
    },
  }
}
