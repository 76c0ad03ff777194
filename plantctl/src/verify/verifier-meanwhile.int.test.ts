import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { encodeEntry } from '@plant-store/shared/read-model/entry.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { describe, expect, inject, it } from 'vitest'
import { claimAt, GENERATION, LOG, openCorruptible, P } from '../../../tests/support/small-log.ts'
import { openVerifiedLog, type VerifiedLog } from '../../../tests/support/verified-log.ts'
import type { VerifierOptions } from './verifier.ts'

describe('while others write', () => {
  const more = (from: number, count: number) => {
    const records = Array.from({ length: count }, (_, n): LogRecord => {
      // Every third of them claims the id of another one again.
      const record = claimAt(from + n, BigInt(1_000 + from + n - (n % 3 === 0 ? 200 : 0)))
      return n % 5 === 0 ? { ...record, parked: PARKED.unknownVersion } : record
    })
    return { records, next: checkpointAt((from + count - 1) as Offset, records) }
  }

  /** Whatever is done each time the log has been read, before what Redis holds is looked at. */
  const meanwhile = (log: Pick<VerifiedLog, 'read'>, work: () => Promise<void>) => ({
    recordsAtOnceMax: 900,
    async read(...args: Parameters<VerifierOptions['read']>): Promise<void> {
      await log.read(...args)
      await work()
    },
  })

  it('what comes in beyond the checkpoint is no difference', async () => {
    const log = await openVerifiedLog(inject('redisUrl'), 2)
    log.write(P, more(0, 2_000))
    await log.apply(P, more(0, 2_000), GENERATION)
    let from = 2_000
    const grow = async () => {
      log.write(P, more(from, 300))
      await log.apply(P, more(from, 300), GENERATION)
      from += 300
    }
    expect((await log.verify(meanwhile(log, grow))).findings).toEqual({ kept: [], more: 0 })
    expect(from).toBeGreaterThan(2_600)
    expect(await log.verify()).toMatchObject({ findings: { kept: [] }, partitions: [{ upTo: from - 1 }, {}] })
  })

  it('what was there before its time is counted, though later nobody can tell it from what came in', async () => {
    const log = await openVerifiedLog(inject('redisUrl'), 2)
    log.write(P, more(0, 20))
    await log.apply(P, more(0, 20), GENERATION)
    const early = more(20, 20)
    const { claim } = early.records[4] as Required<LogRecord>
    await log.redis.hset(`${log.at(P)}${GENERATION}:plants`, String(claim.id), encodeEntry(claim))
    await log.redis.hset(`${log.at(P)}${GENERATION}:parked`, '25', '5')
    log.write(P, early)
    const grow = () => log.apply(P, early, GENERATION)
    const { findings } = await log.verify({ ...meanwhile(log, grow), recordsAtOnceMax: 500_000 })
    const about = { partition: P, generation: GENERATION, what: 'size' }
    expect(findings.kept).toEqual([
      { ...about, of: 'plants', expected: '20', found: '21' },
      { ...about, of: 'parked', expected: '4', found: '5' },
    ])
  })

  it('a log that goes on while nothing is projected is no difference', async () => {
    const log = await openCorruptible()
    log.write(P, more(7, 50))
    expect(await log.verify()).toMatchObject({
      findings: { kept: [] },
      partitions: [{ upTo: 6, end: 57, plants: 5 }, {}],
    })
  })

  const switchOver = async ({ readModel }: Pick<VerifiedLog, 'readModel'>, name: string, dropped = true) => {
    const { generations } = readModel
    const { live } = await generations.pointers(P)
    await generations.startFilling(P, name)
    await generations.fill(P, name, { offset: offsetOf(-1), eventId: '' }, LOG.next, LOG.records)
    await generations.mark(P, name, 'mark')
    const call = { generation: name, mark: 'mark', expectedLive: live, verified: LOG.next.offset }
    expect(await generations.switchTo(P, call)).toEqual({ is: 'switched' })
    if (dropped) await generations.drop(P, live)
  }

  it('a partition whose live generation is exchanged is begun again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const once = async () => {
      if (turn++ === 0) await switchOver(log, 'next-one')
    }
    expect(await log.verify(meanwhile(log, once))).toMatchObject({
      findings: { kept: [], more: 0 },
      partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
    })
    expect(turn).toBeGreaterThan(1)
  })

  it('also while the one before is still there', async () => {
    const log = await openCorruptible()
    let turn = 0
    const once = async () => {
      if (turn++ === 0) await switchOver(log, 'next-one', false)
    }
    expect(await log.verify(meanwhile(log, once))).toMatchObject({
      findings: { kept: [{ what: 'leftover', found: GENERATION }], more: 0 },
      partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
    })
  })

  it('and given up when it is exchanged again and again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const verifying = log.verify(meanwhile(log, () => switchOver(log, `one-${turn++}`)))
    await expect(verifying).rejects.toThrow('partition 0 was exchanged 5 times')
  })

  it('what a rebuild drops right after its switch is not left over', async () => {
    const log = await openCorruptible()
    await log.redis.rpush(`${log.at}old-one:order`, '1')
    const time: Time = {
      now: () => 0,
      after(_ms, callback) {
        void log.readModel.generations.drop(P, 'old-one').then(callback)
        return () => undefined
      },
    }
    expect((await log.verify({ time })).findings).toEqual({ kept: [], more: 0 })
  })

  it('a partition whose first record was just written is not yet told as empty', async () => {
    const log = await openVerifiedLog(inject('redisUrl'), 2)
    log.write(P, LOG)
    const time: Time = {
      now: () => 0,
      after(_ms, callback) {
        void log.apply(P, LOG, GENERATION).then(callback)
        return () => undefined
      },
    }
    expect(await log.verify({ time })).toMatchObject({
      findings: { kept: [], more: 0 },
      partitions: [{ generation: '', upTo: -1, end: 7 }, { generation: '' }],
    })
  })

  it('a partition that falls back is begun again', async () => {
    const log = await openCorruptible()
    let turn = 0
    const fallBack = async () => {
      if (turn++ > 0) return
      await log.redis.del(await log.redis.keys(`${log.at}*`))
      const records = LOG.records.slice(0, 3)
      await log.apply(P, { records, next: checkpointAt(2 as Offset, records) }, GENERATION)
    }
    expect(await log.verify(meanwhile(log, fallBack))).toMatchObject({
      findings: { kept: [], more: 0 },
      partitions: [{ generation: GENERATION, upTo: 2 }, { generation: '' }],
    })
  })
})
