import { encodeEntry } from '@plant-store/shared/plant/entry.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { describe, expect, it } from 'vitest'
import { claimAt, GENERATION, LOG, openCorruptible, P } from '../../../tests/support/small-log.ts'
import { openVerifiedLog, timeOf, type VerifiedLog } from '../../../tests/support/verified-log.ts'
import { noFindings } from './difference.ts'
import type { VerifierOptions } from './verifier.ts'

describe('during the verification', () => {
  const more = (from: number, count: number) => {
    const records = Array.from({ length: count }, (_, n): LogRecord => {
      // Every third record claims an id that another one has claimed.
      const record = claimAt(from + n, BigInt(1_000 + from + n - (n % 3 === 0 ? 200 : 0)))
      return n % 5 === 0 ? { ...record, parked: PARKED.unknownVersion } : record
    })
    return { records, next: checkpointAt((from + count - 1) as Offset, records) }
  }

  /** Does some work each time after the log and before Redis is read. */
  const afterReading = (log: Pick<VerifiedLog, 'read'>, work: () => Promise<void>) => ({
    recordsAtOnceMax: 900,
    async read(...args: Parameters<VerifierOptions['read']>): Promise<void> {
      await log.read(...args)
      await work()
    },
  })

  it('records after the checkpoint are no difference', async () => {
    const log = await openVerifiedLog()
    log.write(P, more(0, 2_000))
    await log.apply(P, more(0, 2_000), GENERATION)
    let from = 2_000
    const grow = async () => {
      log.write(P, more(from, 300))
      await log.apply(P, more(from, 300), GENERATION)
      from += 300
    }
    expect((await log.verify(afterReading(log, grow))).findings).toEqual(noFindings())
    expect(from).toBeGreaterThan(2_600)
    expect(await log.verify()).toMatchObject({
      findings: { listed: [] },
      partitions: [{ upTo: from - 1 }, {}],
    })
  })

  it('entries that were there too early are counted, although they later match the log', async () => {
    const log = await openVerifiedLog()
    log.write(P, more(0, 20))
    await log.apply(P, more(0, 20), GENERATION)
    const early = more(20, 20)
    const { claim } = early.records[4] as Required<LogRecord>
    await log.redis.hset(`${log.at(P)}${GENERATION}:plants`, String(claim.id), encodeEntry(claim))
    await log.redis.hset(`${log.at(P)}${GENERATION}:parked`, '25', '5')
    log.write(P, early)
    const grow = () => log.apply(P, early, GENERATION)
    const { findings } = await log.verify({ ...afterReading(log, grow), recordsAtOnceMax: 500_000 })
    const common = { partition: P, generation: GENERATION, what: 'size' }
    expect(findings.listed).toEqual([
      { ...common, of: 'plants', expected: '20', found: '21' },
      { ...common, of: 'parked', expected: '4', found: '5' },
    ])
  })

  it('a log that grows while nothing is projected is no difference', async () => {
    const log = await openCorruptible()
    log.write(P, more(7, 50))
    expect(await log.verify()).toMatchObject({
      findings: { listed: [] },
      partitions: [{ upTo: 6, end: 57, plants: 5 }, {}],
    })
  })

  const switchTo = async ({ readModel }: Pick<VerifiedLog, 'readModel'>, name: string, dropped: boolean) => {
    const { generations } = readModel
    const { live } = await generations.pointers(P)
    await generations.startFilling(P, name)
    await generations.fill(P, name, { offset: offsetOf(-1), eventId: '' }, LOG.next, LOG.records)
    await generations.mark(P, name, 'mark')
    const call = { generation: name, mark: 'mark', expectedLive: live, verified: LOG.next.offset }
    expect(await generations.switchTo(P, call)).toEqual({ is: 'switched' })
    if (dropped) await generations.drop(P, live)
  }

  it.each([true, false])(
    'a partition whose live generation is switched is compared again (old one dropped: %s)',
    async (dropped) => {
      const log = await openCorruptible()
      let attempt = 0
      const once = async () => {
        if (attempt++ === 0) await switchTo(log, 'next-one', dropped)
      }
      expect(await log.verify(afterReading(log, once))).toMatchObject({
        findings: { listed: dropped ? [] : [{ what: 'leftover', found: GENERATION }], more: 0 },
        partitions: [{ generation: 'next-one', upTo: 6 }, { generation: '' }],
      })
      expect(attempt).toBeGreaterThan(1)
    },
  )

  it('fails when the live generation is switched each time', async () => {
    const log = await openCorruptible()
    let attempt = 0
    const verifying = log.verify(afterReading(log, () => switchTo(log, `one-${attempt++}`, true)))
    await expect(verifying).rejects.toThrow('partition 0 changed 5 times')
  })

  it('a generation that a rebuild drops right after its switch is no leftover', async () => {
    const log = await openCorruptible()
    await log.redis.rpush(`${log.at}old-one:order`, '1')
    const time = timeOf(() => log.readModel.generations.drop(P, 'old-one'))
    expect((await log.verify({ time })).findings).toEqual(noFindings())
  })

  it('a partition whose first record was just written is no difference', async () => {
    const log = await openVerifiedLog()
    log.write(P, LOG)
    const time = timeOf(() => log.apply(P, LOG, GENERATION))
    expect(await log.verify({ time })).toMatchObject({
      findings: { listed: [], more: 0 },
      partitions: [{ generation: '', upTo: -1, end: 7 }, { generation: '' }],
    })
  })

  it('a partition that falls back is compared again', async () => {
    const log = await openCorruptible()
    let attempt = 0
    const fallBack = async () => {
      if (attempt++ > 0) return
      await log.redis.del(await log.redis.keys(`${log.at}*`))
      const records = LOG.records.slice(0, 3)
      await log.apply(P, { records, next: checkpointAt(2 as Offset, records) }, GENERATION)
    }
    expect(await log.verify(afterReading(log, fallBack))).toMatchObject({
      findings: { listed: [], more: 0 },
      partitions: [{ generation: GENERATION, upTo: 2 }, { generation: '' }],
    })
  })
})
