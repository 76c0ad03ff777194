import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { type LogBatch, logs } from '../../../../tests/support/generated-logs.ts'
import { expectSameAsModel, firstOffsets, isFirst } from '../../../../tests/support/modelled-claims.ts'
import { startOwnRedis } from '../../../../tests/support/own-stores.ts'
import { openRedis } from '../../../../tests/support/plant-store.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { claimAt, eventId } from '../../../../tests/support/small-log.ts'
import { createKafka } from '../../event-log/connection.ts'
import { type Offset, offsetOf, type Partition } from '../../plant/position.ts'
import { BEFORE_LOG, checkpointAt } from '../../protocol/checkpoint.ts'
import { createReadModel } from '../../read-model/read-model.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import type { Log } from '../../runtime/log.ts'
import { systemTime, type Time } from '../../runtime/time.ts'
import { inReadModel } from './in-read-model.ts'

const PARTITIONS = 2
const P = 1 as Partition
const WAIT = { timeout: 20_000 }
const kafka = createKafka(['localhost:1'], 'test', quietLog)

const RECORDS = [claimAt(0, 1n), claimAt(1, 2n), claimAt(2, 1n), claimAt(3, 3n)]
const batchOf = (records: typeof RECORDS): LogBatch => ({
  records,
  next: checkpointAt(records.at(-1)?.offset as Offset, records),
})
const [EARLY, LATE] = [batchOf(RECORDS.slice(0, 2)), batchOf(RECORDS.slice(2))]

/** A read model, a projector for it, and first claims that look ids up in it. */
async function openModel({
  redisUrl = inject('redisUrl'),
  topic = `plants-${randomUUID()}`,
  log = quietLog as Log,
  time = systemTime,
} = {}) {
  const readModel = createReadModel({ redis: { REDIS_URL: redisUrl }, topic, partitions: PARTITIONS }, quietLog)
  onTestFinished(() => readModel.close())
  await readModel.ready()
  const claims = await inReadModel({ redisUrl }).open({ topic, partitions: PARTITIONS, kafka, log, time })
  onTestFinished(() => claims.close())
  let checkpoint = BEFORE_LOG
  return {
    ...{ topic, claims, readModel, redis: openRedis(redisUrl) },

    /** Does what the projector does. */
    async project(...batches: LogBatch[]): Promise<void> {
      for (const { records, next } of batches) {
        const applied = await readModel.apply(P, checkpoint, next, records, randomUUID())
        expect(applied).toEqual({ is: 'applied' })
        checkpoint = next
      }
    },

    async empty(): Promise<void> {
      const keys = await openRedis(redisUrl).keys(`{${topic}:*`)
      if (keys.length > 0) await openRedis(redisUrl).del(keys)
      checkpoint = BEFORE_LOG
    },
  }
}

/** A clock that gains a second with each timer, so that a call gives up on the projector after a few look-ups. */
function hurriedTime(): Time {
  let skippedMs = 0
  return {
    now: () => systemTime.now() + skippedMs,
    after(ms, callback) {
      skippedMs += 1_000
      return systemTime.after(ms, callback)
    },
  }
}

describe('first claims in the read model', () => {
  it('agree with a Map, however far ahead the read model is', async () => {
    const { claims, project, empty } = await openModel()
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        await empty()
        await project(...log)
        await expectSameAsModel(claims, P, log)
        expect(await claims.checkpointOf(P)).toEqual(log.at(-1)?.next)
      }),
      { numRuns: 30 },
    )
  })

  it('are looked up in parts when there are many', async () => {
    const { claims, project } = await openModel()
    const many = batchOf(Array.from({ length: 2_500 }, (_, n) => claimAt(n, BigInt(n % 1_700))))
    await project(many)
    await expectSameAsModel(claims, P, [many])
  })

  it('wait for the projector, and are returned when it has reached them', async () => {
    const { claims, project } = await openModel()
    await project(EARLY)
    const first = firstOffsets([EARLY, LATE])
    let isTold = false
    const telling = claims.firstAmong(P, LATE.records, LATE.next).then((records) => {
      isTold = true
      return records
    })
    expect(await claims.firstAmong(P, EARLY.records, EARLY.next)).toEqual(EARLY.records)
    expect(isTold).toBe(false)
    await project(LATE)
    expect(await telling).toEqual(LATE.records.filter(isFirst(first)))
  })

  it('report a projector that stays behind, and are returned when it has caught up', async () => {
    const { claims, project } = await openModel({ time: hurriedTime() })
    await project(EARLY)
    const waiting = claims.firstAmong(P, LATE.records, LATE.next)
    await expect(waiting).rejects.toThrow(/not reached offset 3 of partition 1: its projector is behind/)
    // The same call can be made again, and nothing was decided.
    await expect(claims.firstAmong(P, LATE.records, LATE.next)).rejects.not.toBeInstanceOf(PreconditionError)
    await project(LATE)
    await expectSameAsModel(claims, P, [EARLY, LATE])
  })

  it('are not decided while Redis is empty, and are the same when it is rebuilt', async () => {
    const { claims, project, empty } = await openModel({ time: hurriedTime() })
    await project(EARLY, LATE)
    await expectSameAsModel(claims, P, [EARLY, LATE])
    await empty()
    expect(await claims.checkpointOf(P)).toBeUndefined()
    await expect(claims.firstAmong(P, LATE.records, LATE.next)).rejects.toThrow('Redis was emptied')
    // An entry is true although the model is behind.
    await project(EARLY)
    const known = LATE.records.slice(0, 1)
    expect(await claims.firstAmong(P, known, checkpointAt(offsetOf(2), known))).toEqual([])
    await expect(claims.firstAmong(P, LATE.records, LATE.next)).rejects.toThrow('not reached offset 3')
    await project(LATE)
    await expectSameAsModel(claims, P, [EARLY, LATE])
  })

  it('wait while Redis is unreachable, report it, and continue when it is back', async () => {
    const { url, port, stop } = await startOwnRedis()
    const warnings: string[] = []
    const log = { ...quietLog, warn: (...said: unknown[]) => void warnings.push(String(said.at(-1))) } as Log
    const { claims, topic, project } = await openModel({ redisUrl: url, log })
    await project(EARLY, LATE)
    await expectSameAsModel(claims, P, [EARLY, LATE])
    await stop()
    await expect(claims.firstAmong(P, EARLY.records, EARLY.next)).rejects.not.toBeInstanceOf(PreconditionError)
    await expect(claims.checkpointOf(P)).rejects.not.toBeInstanceOf(PreconditionError)
    await vi.waitFor(() => expect(warnings.join()).toContain('redis: not reachable'), WAIT)
    await startOwnRedis({ port })
    const again = await openModel({ redisUrl: url, topic })
    await again.project(EARLY, LATE)
    await vi.waitFor(() => expectSameAsModel(claims, P, [EARLY, LATE]), WAIT)
  })

  it('can be opened while Redis is unreachable', async () => {
    const { url, port, stop } = await startOwnRedis()
    await stop()
    const surroundings = { topic: 'plants', partitions: PARTITIONS, kafka, log: quietLog, time: systemTime }
    const claims = await inReadModel({ redisUrl: url }).open(surroundings)
    onTestFinished(() => claims.close())
    await expect(claims.firstAmong(P, EARLY.records, EARLY.next)).rejects.toThrow()
    await startOwnRedis({ port })
    const { project } = await openModel({ redisUrl: url, topic: 'plants' })
    await project(EARLY, LATE)
    await vi.waitFor(() => expectSameAsModel(claims, P, [EARLY, LATE]), WAIT)
  })

  it('are rejected for a read model of another log', async () => {
    const { claims, project } = await openModel()
    await project(EARLY, LATE)
    const strange = batchOf([claimAt(0, 1n, { eventId: eventId(50) })])
    await expect(claims.firstAmong(P, strange.records, strange.next)).rejects.toThrow(/another log.* offset 0\. /s)
    const missing = batchOf([claimAt(1, 99n)])
    await expect(claims.firstAmong(P, missing.records, missing.next)).rejects.toThrow(PreconditionError)
    const earlier = batchOf([claimAt(2, 3n)])
    await expect(claims.firstAmong(P, earlier.records, earlier.next)).rejects.toThrow(PreconditionError)
  })

  it('are rejected for a read model of another partition count, and of a newer release', async () => {
    const { claims, project, redis, topic } = await openModel()
    await project(EARLY)
    const generation = await redis.get(`{${topic}:${P}}:live`)
    await redis.hset(`{${topic}:${P}}:${generation}:meta`, 'partitions', '7')
    await expect(claims.checkpointOf(P)).rejects.toThrow(PreconditionError)
    await expect(claims.checkpointOf(P)).rejects.toThrow('7 partitions')
    await redis.hset(`{${topic}:${P}}:${generation}:meta`, 'partitions', '2', 'fold', '99')
    await expect(claims.checkpointOf(P)).rejects.toThrow('newer release')
  })

  it('are not decided by an entry that this release cannot read', async () => {
    const { claims, project, redis, topic } = await openModel()
    await project(EARLY)
    const generation = await redis.get(`{${topic}:${P}}:live`)
    await redis.hset(`{${topic}:${P}}:${generation}:plants`, '2', 'no entry')
    await expect(claims.firstAmong(P, EARLY.records, EARLY.next)).rejects.toThrow('not readable by this release')
  })

  it('reject a URL that is not a Redis URL', async () => {
    const surroundings = { topic: 'plants', partitions: PARTITIONS, kafka, log: quietLog, time: systemTime }
    await expect(inReadModel({ redisUrl: 'localhost:6379' }).open(surroundings)).rejects.toThrow('redisUrl')
  })

  it('end at once when they are closed while they wait', async () => {
    const { claims, project } = await openModel({ time: { ...systemTime, now: () => 0 } })
    await project(EARLY)
    const waiting = expect(claims.firstAmong(P, LATE.records, LATE.next)).rejects.toThrow()
    await claims.firstAmong(P, EARLY.records, EARLY.next)
    await claims.close()
    await waiting
  })
})
