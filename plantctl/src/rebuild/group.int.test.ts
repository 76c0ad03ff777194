import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { NO_PROGRESS_MS } from '@plant-store/shared/event-log/replay.ts'
import { FIRST, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import { systemTime, type Time } from '@plant-store/shared/runtime/time.ts'
import { expect, it } from 'vitest'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { LOG, openCorruptible, P, RECORDS } from '../../../tests/support/small-log.ts'
import { slicesOf } from '../verify/slice.ts'
import { rebuildGroup } from './group.ts'
import { rebuildPartitions } from './rebuild.ts'
import type { RebuildOptions } from './rebuild-options.ts'

const OTHER = 1 as Partition
const SLICES = 3
const END = offsetOf(RECORDS.length)

/** A rebuild of both partitions from a log that `deliver` plays, without a need to read it again. */
const optionsOf = (generations: RebuildOptions['generations'], deliver: (sink: RecordSink) => Promise<unknown>) => ({
  ...{ generations, time: systemTime, log: quietLog, partitions: [P, OTHER], fromEmpty: true, onProgress() {} },
  follow: (sink: RecordSink) => ({
    assigned: () => new Map(),
    reloadCheckpoints() {},
    close: async () => {},
    start: () => void deliver(sink),
  }),
  readEnds: async () => [END, END],
  readerOfLog: () => () => Promise.reject(new Error('read without a need')),
  freshName: () => crypto.randomUUID(),
  signal: new AbortController().signal,
})

it('a rebuild with one stuck partition fails, although a finished one still gets records', async () => {
  const { readModel } = await openCorruptible()
  let [isDone, skippedMs] = [false, 0]
  /** Once the other partition is done, every wait ends at once. */
  const time: Time = {
    now: () => systemTime.now() + skippedMs,
    after(ms, callback) {
      return systemTime.after(isDone ? 0 : ms, () => {
        if (isDone) skippedMs += ms
        callback()
      })
    },
  }
  async function deliver({ onRecords }: RecordSink): Promise<void> {
    await onRecords(OTHER, RECORDS, LOG.next, BEFORE_LOG)
    for (let from = LOG.next; skippedMs < 10 * NO_PROGRESS_MS; ) {
      const next = { offset: offsetOf(from.offset + 1), eventId: '' } as const
      from = await onRecords(OTHER, [], next, from)
      await new Promise<void>((resolve) => time.after(100, resolve))
    }
  }
  const running = rebuildPartitions({
    ...optionsOf(readModel.generations, deliver),
    time,
    onProgress({ partition, phase }) {
      if (partition === OTHER && phase === 'switched') isDone = true
    },
  })
  await expect(running).rejects.toThrow('(partition 0)')
  expect(skippedMs).toBeLessThan(5 * NO_PROGRESS_MS)
})

it('the pace applies to each reading of the log: before it fills, and to verify each other slice', async () => {
  const { readModel, read } = await openCorruptible()
  let paced = 0
  let pacedBeforeFill: number | undefined
  const fill: Generations['fill'] = (...call) => {
    pacedBeforeFill ??= paced
    return readModel.generations.fill(...call)
  }
  const [result] = await rebuildGroup(
    { group: [P], slices: slicesOf(SLICES) },
    {
      ...optionsOf({ ...readModel.generations, fill }, ({ onRecords }) => onRecords(P, RECORDS, LOG.next, BEFORE_LOG)),
      ...{ readEnds: async () => [END, FIRST], ends: [END, FIRST], readerOfLog: () => read },
      async keepPace(records) {
        paced += records
      },
    },
  )
  expect(result).toMatchObject({ is: 'switched' })
  // A small log is one reading.
  expect(pacedBeforeFill).toBe(RECORDS.length)
  expect(paced).toBe(SLICES * RECORDS.length)
})
