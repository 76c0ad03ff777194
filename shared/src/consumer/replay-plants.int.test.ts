import { describe, expect, inject, it, vi } from 'vitest'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { newEventId } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { withAdmin } from '../event-log/connection.ts'
import { type NewRecord, plantCreated } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'
import type { ReplayPlantsOptions, ReplayProgress } from './options.ts'
import type { ParkedRecord, PlantCreated } from './plant-record.ts'
import { replayPlants } from './replay-plants.ts'

const PARTITIONS = 3
const WAIT = { timeout: 20_000 }
const brokers = () => inject('kafkaBrokers').split(',')

const claim = (id: bigint, name: string, eventId = newEventId()): NewRecord =>
  plantCreated({ ...newPlant(id), name }, eventId, PARTITIONS)

async function openLog(records: readonly NewRecord[] = []) {
  const topic = await openTopic(PARTITIONS)
  if (records.length > 0) await topic.appendRecords(records)
  const common = { brokers: brokers(), topic: topic.topic, log: quietLog }
  return { ...topic, common }
}

/** The deliveries of a replay, and its summary. */
async function replayed(options: Omit<ReplayPlantsOptions, 'onPlantCreated' | 'onPlantsCreated'>) {
  const events: PlantCreated[] = []
  const parked: ParkedRecord[] = []
  const summary = await replayPlants({
    onParked: (record) => parked.push(record),
    ...options,
    onPlantCreated: (event) => events.push(event),
  })
  const names = events.map(({ name }) => name).sort()
  return { events, parked, summary, names }
}

describe('replaying plants', () => {
  it('delivers batches of one partition in log order, one call at a time, and reports its progress up to the end', async () => {
    const log = await openLog()
    await log.append(500)
    const last = new Map<Partition, number>()
    const reports: ReplayProgress[] = []
    let [calls, running] = [0, 0]
    const summary = await replayPlants({
      ...{ ...log.common, maxBatch: 50, progressEveryMs: 1 },
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
    expect(summary.plants).toBe(500)
    expect([...last.values()].reduce((sum, offset) => sum + offset + 1, 0)).toBe(500)
    expect(reports.at(-1)).toMatchObject({ read: 500, of: 500, plants: 500 })
    expect(reports.map(({ read }) => read)).toEqual(reports.map(({ read }) => read).sort((a, b) => a - b))
  })

  it('ends at the end of the log at its start; the next replay can deliver what came after', async () => {
    const log = await openLog()
    await log.append(100)
    let appended = false
    const events: PlantCreated[] = []
    const first = await replayPlants({
      ...log.common,
      async onPlantCreated(event) {
        events.push(event)
        if (appended) return
        appended = true
        await log.append(50)
        await log.appendRecords([claim(1n, 'void')])
      },
    })
    expect(first).toMatchObject({ plants: 100, voids: 0 })
    expect(events.length).toBe(100)
    const { summary, names } = await replayed({ ...log.common, from: { positions: first.positions } })
    expect(summary).toMatchObject({ records: 151, plants: 150, voids: 1 })
    expect(names).toEqual(Array.from({ length: 50 }, (_, n) => `plant ${n + 101}`).sort())
  })

  it('delivers what was written from a time on', async () => {
    const log = await openLog([claim(1n, 'early')])
    const { events } = await replayed(log.common)
    const time = new Date((events[0] as PlantCreated).time.getTime() + 1)
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(time.getTime()), WAIT)
    await log.appendRecords([claim(1n, 'void'), claim(2n, 'late')])
    const { names, summary } = await replayed({ ...log.common, from: { time } })
    expect(names).toEqual(['late'])
    expect(summary).toMatchObject({ plants: 2, voids: 1 })
  })

  it('ends with the error of onProgress, synchronous or not', async () => {
    const log = await openLog()
    await log.append(300)
    const full = new Error('full')
    function throwing() {
      throw full
    }
    for (const onProgress of [throwing, () => Promise.reject(full)])
      await expect(replayed({ ...log.common, progressEveryMs: 1, onProgress })).rejects.toBe(full)
    // At its end alone, after all was delivered.
    const late = { progressEveryMs: 3_600_000, onProgress: () => Promise.reject(new TypeError('late')) }
    await expect(replayed({ ...log.common, ...late })).rejects.toBeInstanceOf(TypeError)
  })

  it('of an empty topic ends at once', async () => {
    const { common } = await openLog()
    const { summary } = await replayed(common)
    expect(summary).toMatchObject({ records: 0, plants: 0 })
    expect([...summary.positions]).toEqual([0, 1, 2].map((partition) => [partition, 0]))
  })

  it('ends with the error of a handler, and calls no handler afterwards', async () => {
    const log = await openLog()
    await log.append(100)
    let calls = 0
    const failing = replayPlants({
      ...log.common,
      async onPlantCreated() {
        if (++calls === 5) throw new Error('full')
      },
    })
    await expect(failing).rejects.toThrow('full')
    expect(calls).toBe(5)
  })

  it('ends when it is aborted, after the running handler', async () => {
    const log = await openLog()
    await log.append(100)
    const breaking = new AbortController()
    let [begun, ended] = [0, 0]
    const broken = replayPlants({
      ...{ ...log.common, signal: breaking.signal },
      async onPlantCreated() {
        begun++
        breaking.abort(new Error('enough'))
        await log.append(1)
        ended++
      },
    })
    await expect(broken).rejects.toThrow('enough')
    expect({ begun, ended }).toEqual({ begun: 1, ended: 1 })
  })

  it('applies nothing twice when other members join and leave its group', async () => {
    const log = await openLog()
    await log.append(300)
    let isFirst = true
    const events: PlantCreated[] = []
    const summary = await replayPlants({
      ...log.common,
      async onPlantCreated(event) {
        events.push(event)
        if (!isFirst) return
        isFirst = false
        await joinAndLeave()
      },
    })
    expect(new Set(events.map(({ id }) => id)).size).toBe(300)
    expect(events.length).toBe(300)
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

  it('ends with an error when the first claims exceed maxMib', async () => {
    const log = await openLog()
    for (let batch = 0; batch < 5; batch++) await log.append(5_000)
    await expect(replayed({ ...log.common, maxMib: 1 })).rejects.toMatchObject({ code: 'first-claims' })
  })
})
