import { describe, expect, inject, it, vi } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { withAdmin } from '../event-log/connection.ts'
import type { Partition } from '../plant/position.ts'
import type { ReplayPlantsOptions, ReplayProgress } from './options.ts'
import type { PlantCreated } from './plant-record.ts'
import { replayPlants } from './replay-plants.ts'

const PARTITIONS = 3

async function openLog(plants: number) {
  const topic = await openTopic(PARTITIONS)
  if (plants > 0) await topic.append(plants)
  const common = { brokers: inject('kafkaBrokers').split(','), topic: topic.topic, log: quietLog }
  return { ...topic, common }
}

/** The deliveries of a replay, and its summary. */
async function replayed(options: Omit<ReplayPlantsOptions, 'onPlantCreated' | 'onPlantsCreated'>) {
  const events: PlantCreated[] = []
  const summary = await replayPlants({ ...options, onPlantCreated: (event) => void events.push(event) })
  return { events, summary }
}

describe('replaying plants', () => {
  it('delivers batches of one partition in log order, one call at a time, and reports its progress up to the end', async () => {
    const { common } = await openLog(500)
    const last = new Map<Partition, number>()
    const reports: ReplayProgress[] = []
    let [calls, running] = [0, 0]
    const summary = await replayPlants({
      ...{ ...common, maxBatch: 50, progressEveryMs: 1 },
      onProgress: (now) => void reports.push(now),
      async onPlantsCreated(events) {
        calls++
        expect(++running).toBe(1)
        expect(events.length).toBeLessThanOrEqual(50)
        expect(new Set(events.map(({ partition }) => partition)).size).toBe(1)
        for (const { partition, offset } of events) {
          expect(offset).toBe((last.get(partition) ?? -1) + 1)
          last.set(partition, offset)
        }
        await new Promise(setImmediate)
        running--
      },
    })
    expect(calls).toBeGreaterThanOrEqual(10)
    expect(summary).toMatchObject({ records: 500, plants: 500 })
    expect(reports.at(-1)).toMatchObject({ read: 500, of: 500, plants: 500 })
    expect(reports.map(({ read }) => read)).toEqual(reports.map(({ read }) => read).sort((a, b) => a - b))
  })

  it('ends at the end of the log at its start; the next replay can deliver what came after, by position or time', async () => {
    const log = await openLog(100)
    const { events, summary } = await replayed(log.common)
    expect([events.length, summary]).toMatchObject([100, { plants: 100, voids: 0 }])
    const time = new Date(Math.max(...events.map((event) => event.time.getTime())) + 1)
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(time.getTime()))
    let appended = false
    const first = await replayPlants({
      ...log.common,
      async onPlantCreated() {
        if (appended) return
        appended = true
        await log.append(50)
        await log.appendRecords([newEvent(1n, PARTITIONS)])
      },
    })
    expect(first).toMatchObject({ plants: 100, voids: 0 })
    for (const from of [{ positions: first.positions }, { time }]) {
      const later = await replayed({ ...log.common, from })
      expect(later.summary).toMatchObject({ records: 151, plants: 150, voids: 1 })
      const ids = later.events.map(({ id }) => Number(id)).sort((a, b) => a - b)
      expect(ids).toEqual(Array.from({ length: 50 }, (_, n) => n + 101))
    }
  })

  it.each([
    ['the error of a handler', false, 4],
    ['its signal, after the running handler,', true, 5],
  ])('ends with %s and calls no handler afterwards', async (_what, isSignal, completed) => {
    const log = await openLog(100)
    const stopping = new AbortController()
    let [begun, ended] = [0, 0]
    const broken = replayPlants({
      ...{ ...log.common, signal: stopping.signal },
      async onPlantCreated() {
        if (++begun === 5) {
          if (!isSignal) throw new Error('enough')
          stopping.abort(new Error('enough'))
          await log.append(1)
        }
        ended++
      },
    })
    await expect(broken).rejects.toThrow('enough')
    expect([begun, ended]).toEqual([5, completed])
  })

  it('applies nothing twice when other members join and leave its group', async () => {
    const log = await openLog(300)
    const events: PlantCreated[] = []
    const summary = await replayPlants({
      ...log.common,
      async onPlantCreated(event) {
        if (events.push(event) === 1) await joinAndLeave()
      },
    })
    expect([new Set(events.map(({ id }) => id)).size, events.length]).toEqual([300, 300])
    expect(summary).toMatchObject({ records: 300, plants: 300, repeated: 0 })

    async function joinAndLeave(): Promise<void> {
      const { groups } = await withAdmin(log.kafka, (admin) => admin.listGroups())
      const groupId = groups.find((group) => group.groupId.startsWith(`${log.topic}-replay`))?.groupId ?? ''
      const other = log.kafka.consumer({ groupId, sessionTimeout: 6_000, rebalanceTimeout: 10_000 })
      const joined = new Promise((resolve) => other.on(other.events.GROUP_JOIN, resolve))
      await other.connect()
      await other.subscribe({ topic: log.topic, fromBeginning: true })
      await other.run({ eachBatch: async () => {}, autoCommit: false })
      await joined
      await other.disconnect()
    }
  })
})
