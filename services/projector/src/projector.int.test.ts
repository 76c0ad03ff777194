import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { describe, expect, it, vi } from 'vitest'
import { mixedEvents, newEvent } from '../../../tests/support/new-events.ts'
import { openProjectedStore } from '../../../tests/support/projected-store.ts'
import { asStored, pointerOf, readStoredPartition } from '../../../tests/support/stored-partition.ts'
import { readTruth } from '../../../tests/support/truth.ts'

const PARTITIONS = 2
const WAIT_MS = 30_000

async function openStore() {
  const store = await openProjectedStore(PARTITIONS)
  const { topic, redis } = store
  return {
    ...store,

    /** Compares all of Redis with the fold of the log, read apart from the projector. */
    async expectFoldOfLog(): Promise<void> {
      const { states } = await readTruth(topic)
      for (const partition of allPartitions(PARTITIONS)) {
        const state = states[partition] as PartitionState
        const stored = await readStoredPartition(redis, topic.topic, partition)
        expect(stored).toEqual(asStored(state, state.checkpoint, PARTITIONS))
      }
    },
  }
}

describe('the projector', () => {
  it.each([
    ['*', 'an emptied Redis'],
    ['*:plants', 'a Redis that has lost the plants of each partition,'],
    ['*:order', 'a Redis that has lost the order of each partition,'],
  ])('brings the read model to the fold of the log, and refills (%s) %s without a new event', async (keys) => {
    const store = await openStore()
    // More than one call of the script applies.
    await store.append(mixedEvents(1_500, 900, PARTITIONS))
    const { projector, halts } = store.startProjector()
    await store.untilProjected()
    await store.expectFoldOfLog()
    expect([projector.problems(), halts]).toEqual([[], []])
    await store.redis.del(await store.redis.keys(`{${store.topic.topic}:${keys}`))
    await store.untilProjected()
    await store.expectFoldOfLog()
  })

  it('reports a problem while it cannot compare checkpoints', async () => {
    const store = await openStore()
    await store.append(mixedEvents(20, 20, PARTITIONS))
    const { projector, halts } = store.startProjector()
    await store.untilProjected()
    const pointer = pointerOf(store.topic.topic, 0 as Partition)
    const live = (await store.redis.get(pointer)) as string
    await store.redis.multi().del(pointer).lpush(pointer, 'no pointer').exec()
    await vi.waitFor(
      () => expect(projector.problems()).toEqual([expect.stringMatching(/^comparing checkpoints: .*WRONGTYPE/)]),
      WAIT_MS,
    )
    await store.redis.set(pointer, live)
    await vi.waitFor(() => expect(projector.problems()).toEqual([]), WAIT_MS)
    await store.expectFoldOfLog()
    expect(halts).toEqual([])
  })

  it('halts when a newer release has taken over the read model', async () => {
    const store = await openStore()
    const event = newEvent(1n, PARTITIONS)
    await store.append([event])
    const { halts } = store.startProjector()
    await store.untilProjected()
    const partition = event.partition as Partition
    const live = await store.redis.get(pointerOf(store.topic.topic, partition))
    await store.redis.hset(`{${store.topic.topic}:${partition}}:${live}:meta`, 'fold', '2')
    await vi.waitFor(() => expect(halts).not.toEqual([]), WAIT_MS)
    expect(halts[0]).toBeInstanceOf(PreconditionError)
    expect(halts[0]?.message).toMatch(/newer release/)
  })
})
