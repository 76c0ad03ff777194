import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { BEFORE_FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/read-model.ts'
import { expect, it } from 'vitest'
import { createClock, flushPromises } from '../../../../tests/simulation/clock.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { createDeadlines } from './deadline.ts'
import { createLookUps } from './look-ups.ts'

const DEADLINE_MS = 10_000
const HUNG_MS = 2_000
const [P, Q] = [0 as Partition, 1 as Partition]

/** Look-ups in a read model of which the second partition hangs: each of its look-ups fails after two seconds. */
function openLookUps() {
  const clock = createClock()
  const time = clock.timeOf({ name: 'api', alive: true, redis: { partitions: [] } as never })
  const deadlines = createDeadlines(time, DEADLINE_MS)
  const state = { isHung: true }
  const hang = () =>
    new Promise<PartitionLookUp>((_, reject) => void time.after(HUNG_MS, () => reject(new Error('timed out'))))
  const found = (ids: readonly PlantId[]) => ({ checkpoint: BEFORE_FIRST, entries: ids.map(() => undefined) })
  const lookUps = createLookUps(
    {
      lookUpEach: (requests) =>
        requests.map(({ partition, ids }) => (partition === Q && state.isHung ? hang() : Promise.resolve(found(ids)))),
    },
    { time, log: quietLog, maxBatchIds: 10, appendEnded: async () => {}, others: () => [] },
  )
  let lastId = 0n
  /** Starts a look-up; \`isOver\` and \`isFound\` say how it ended. */
  function find(partition: Partition) {
    const deadline = deadlines.start()
    const look = { isOver: false, isFound: false }
    void lookUps.find(partition, ++lastId as PlantId, deadline).then((result) => {
      Object.assign(look, { isOver: true, isFound: result !== undefined })
      deadlines.end(deadline)
    })
    return look
  }
  async function advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10)
      await flushPromises()
    }
  }
  return { ...lookUps, state, find, advance }
}

it('a partition that hangs delays the others once, by one time-out', async () => {
  const { find, advance, waitedMs, failure } = openLookUps()
  const [hung] = [find(Q), find(P)]
  await advance(HUNG_MS)
  const later = find(Q)
  for (let n = 0; n < 100; n++) {
    const other = find(P)
    await advance(20)
    expect(other.isFound).toBe(true)
  }
  expect([hung.isOver, later.isOver, waitedMs(P), failure(P)]).toEqual([false, false, 0, undefined])
  expect(failure(Q)).toEqual(new Error('timed out'))
})

it('a partition that hangs is looked up again until it responds or the deadlines have passed', async () => {
  const { find, advance, state, failure } = openLookUps()
  const first = find(Q)
  await advance(DEADLINE_MS)
  expect(first).toEqual({ isOver: true, isFound: false })
  const second = find(Q)
  state.isHung = false
  await advance(HUNG_MS + 100)
  expect([second.isFound, failure(Q)]).toEqual([true, undefined])
})

it('a new look-up waits as long as the oldest of its partition', async () => {
  const { find, advance, waitedMs } = openLookUps()
  find(Q)
  for (const passedMs of [HUNG_MS + 10, 2 * HUNG_MS, 3 * HUNG_MS]) {
    await advance(passedMs - waitedMs(Q))
    expect([waitedMs(P), waitedMs(Q)]).toEqual([0, passedMs])
  }
})
