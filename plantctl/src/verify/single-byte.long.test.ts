import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import fc from 'fast-check'
import { expect, inject, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import { byteChanges, changeOneByte } from '../../../tests/support/stored-bytes.ts'
import { openVerifiedLog } from '../../../tests/support/verified-log.ts'

const P = 0 as Partition
const GENERATION = 'live-one'

/** Work in one slice, and in several. */
const limits = fc.constantFrom(500_000, 2)

it('finds no difference in the fold of any log', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  await fc.assert(
    fc.asyncProperty(logs, limits, async (batches, recordsAtOnceMax) => {
      await log.empty()
      for (const batch of batches) {
        log.write(P, batch)
        await log.apply(P, batch, GENERATION)
        expect((await log.verify({ recordsAtOnceMax })).findings).toEqual({ listed: [], more: 0 })
      }
    }),
    { numRuns: 60 },
  )
})

it('finds any changed byte in any key', async () => {
  const log = await openVerifiedLog(inject('redisUrl'), 2)
  // Leftovers are checked again after a delay, which is pointless here.
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
      limits,
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
        expect(findings.listed).not.toEqual([])
        // A renamed key may no longer have the prefix of this topic, and its name may be no valid text.
        await log.redis.del(changed)
      },
    ),
    { numRuns: 300 },
  )
})
