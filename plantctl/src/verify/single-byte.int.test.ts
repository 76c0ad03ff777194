import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import fc from 'fast-check'
import { expect, inject, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { byteChanges, changeOneByte } from '../../../tests/support/stored-bytes.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'

const P = 0 as Partition
const GENERATION = 'live-one'

/** Cuts of the work in one slice and in several. */
const cuts = fc.constantFrom(500_000, 2)

it('the fold of any log is found to be it', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(logs, cuts, async (batches, recordsAtOnceMax) => {
      await log.empty()
      for (const batch of batches) {
        log.write(P, batch)
        await log.apply(P, batch, GENERATION)
        expect((await log.verify({ recordsAtOnceMax })).findings).toEqual({ kept: [], more: 0 })
      }
    }),
    { numRuns: 60 },
  )
})

it('any byte that is changed in any key is found', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  // What is left over is looked for again after a while; here nothing else goes on.
  const atOnce: Time = {
    now: () => 0,
    after(_ms, callback) {
      const immediate = setImmediate(callback)
      return () => clearImmediate(immediate)
    },
  }
  await fc.assert(
    fc.asyncProperty(
      logs.filter((batches) => batches.length > 0),
      cuts,
      byteChanges,
      async (batches, recordsAtOnceMax, change) => {
        await log.empty()
        for (const batch of batches) {
          log.write(P, batch)
          await log.apply(P, batch, GENERATION)
        }
        const keys = (await log.redis.keys(`{${log.topic}:*`)).sort()
        const changed = await changeOneByte(log.redis, keys, change)
        const { findings } = await log.verify({ recordsAtOnceMax, time: atOnce })
        expect(findings.kept).not.toEqual([])
        // A key that was renamed may not be one of this topic any more, and its name no text.
        await log.redis.del(changed)
      },
    ),
    { numRuns: 300 },
  )
})
