import { createDelivery } from '@plant-store/shared/consumer/delivery.ts'
import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { createGroupPosition } from '@plant-store/shared/consumer/group-position.ts'
import { createHandlerCaller } from '@plant-store/shared/consumer/handlers.ts'
import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { quietLog } from '../../support/quiet-log.ts'
import { createSimulatedFollower, type SimulatedFollower } from '../follower.ts'
import { ALL, PARTITIONS } from '../kafka.ts'
import type { Random } from '../random.ts'
import type { World } from './world.ts'

const STORED = { offset: FIRST, key: null, value: null, headers: {}, timestampMs: 0 }

export type SimulatedConsumer = ReturnType<typeof startConsumer>

/** A member of the group. The deciding code is the product's; the group, its fetches and time are models. */
export function startConsumer(world: World, random: Random, firstClaims: OpenFirstClaims) {
  const { network } = world
  const process = { name: 'consumer', alive: true, redis: [] }
  const time = world.clock.timeOf(process)
  const working = new Set<Partition>()
  let isPaused = false
  /** The group generation that this member knows. */
  let generation = 0

  const group = createGroupPosition({
    partitions: PARTITIONS,
    start: ALL.map(() => FIRST),
    read: () => network.call(process, 'read of the offsets', () => new Map(world.committed)),
    async commit(offsets) {
      const known = generation
      const commit = () => {
        if (known !== world.generation()) throw new Error('an old group generation')
        for (const { partition, ...offset } of offsets) world.commit(partition, offset)
      }
      await network.call(process, 'commit', commit)
    },
  })
  const callHandler = createHandlerCaller(
    {
      async onPlantsCreated(events) {
        const { partition } = events[0] as { partition: Partition }
        if (working.has(partition)) world.broken(`two handlers at once in ${partition}`)
        working.add(partition)
        // It fails when the response is lost.
        await network.call(process, 'work of a handler', () => {}).finally(() => working.delete(partition))
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
    mayContinue: (partition) => !isPaused && follower.assigned()?.has(partition) === true,
  })
  const follower: SimulatedFollower = createSimulatedFollower(
    process,
    {
      checkpointOf: delivery.checkpointOf,
      onRecords: (partition, records, ...range) =>
        delivery.onRecords(
          partition,
          records.map((record) => ({ ...record, stored: STORED })),
          ...range,
        ),
      onHalt: ({ message }) => world.broken(`a consumer ends with its own log: ${message}`),
    },
    { ...world, time },
  )

  const delivered = () =>
    [...(follower.assigned() ?? [])].map(
      ([partition, checkpoint]) => [partition, checkpoint && delivery.deliveredOf(partition)] as const,
    )

  return {
    /** A rebalance. A member that does not take part keeps an old group generation and does not notice. */
    assign(partitions: readonly Partition[]): void {
      generation = world.generation()
      follower.rebalance(partitions, random)
    },
    pause(paused: boolean): void {
      isPaused = paused
    },
    /** Fetches records of a partition, or delivers those that were fetched. */
    deliver(partition: Partition): void {
      if (!isPaused) follower.deliver(partition, random, world.isCalm)
    },
    commit(): void {
      const passed = delivered().filter((entry): entry is [Partition, Checkpoint] => entry[1] !== undefined)
      void group.commit(new Map(passed)).catch(() => {})
    },
    isDone: () => delivered().every(([partition, passed]) => passed?.offset === world.log.end(partition) - 1),
    kill(): void {
      process.alive = false
      network.cutOff(process, random)
      void follower.close()
    },
  }
}
