import { Type } from 'typebox'
import { readable } from '../../plant/entry.ts'
import type { Claim } from '../../plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '../../plant/position.ts'
import { createLookUp, LOOK_UP_SCRIPTS, type LookUp } from '../../read-model/look-up.ts'
import { connectRedis } from '../../read-model/redis.ts'
import { REDIS_SETTINGS, type RedisSettings } from '../../read-model/redis-settings.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { createBackOff } from '../../runtime/retry.ts'
import { readSettings } from '../../runtime/settings.ts'
import { delay, type Time } from '../../runtime/time.ts'
import { entryVerdict, type FirstClaims } from './first-claims.ts'

export type { FirstClaims }

/** How long one call waits for the projector. The caller retries later. */
const WAIT_FOR_PROJECTOR_MS = 1_000
const RETRY = { firstMs: 2, longestMs: 50 }
const MAX_IDS_PER_LOOK_UP = 1_000

/**
 * Looks up the first claims in the service's read model, at a Redis URL or where the `REDIS_…` settings in `redis` say,
 * for example those of `process.env`. It stores nothing and reads nothing twice. An event is delivered once the
 * projector has applied it. While Redis is unreachable, or emptied and being rebuilt, the consumer waits and reports a
 * problem. Needs the package ioredis and read access.
 */
export function inReadModel(place: { redisUrl: string } | { redis: NodeJS.ProcessEnv }): FirstClaims {
  return {
    async open({ topic, partitions, log, time }) {
      const { redis, ready, close } = connectRedis(settingsOf(place), LOOK_UP_SCRIPTS, log)
      const readModel = createLookUp(redis, { topic, partitions })
      const closing = new AbortController()
      // If Redis is unreachable now, the first look-up waits for it.
      await ready().catch(() => {})

      return {
        /** What the log must contain if this is its read model. An empty read model has nothing to check. */
        async checkpointOf(partition) {
          const { checkpoint } = await readModel.meta(partition).catch(throwUnusable)
          return checkpoint.offset === BEFORE_FIRST ? undefined : checkpoint
        },

        async firstAmong(partition, records) {
          const claims = records.flatMap(({ claim }) => claim ?? [])
          const first = await firstOffsets(readModel, partition, claims, time, closing.signal)
          return records.filter(({ claim, offset }) => claim !== undefined && first.has(offset))
        },

        async close() {
          closing.abort()
          await close()
        },
      }
    },
  }
}

function settingsOf(place: Parameters<typeof inReadModel>[0]): RedisSettings {
  if ('redis' in place) return readSettings(Type.Object(REDIS_SETTINGS), place.redis)
  if (/^rediss?:\/\//.test(place.redisUrl)) return { REDIS_URL: place.redisUrl }
  throw new PreconditionError('redisUrl must be a Redis URL: redis://… or rediss://…')
}

/** The offsets of the first claims among these. Rejects when the read model does not reach them in time. */
async function firstOffsets(
  readModel: LookUp,
  partition: Partition,
  claims: readonly Claim[],
  time: Time,
  closing: AbortSignal,
): Promise<ReadonlySet<Offset>> {
  const first = new Set<Offset>()
  const backOff = createBackOff(RETRY)
  const giveUpAt = time.now() + WAIT_FOR_PROJECTOR_MS
  let unknown = await lookUp(claims)
  while (unknown.length > 0) {
    if (closing.aborted || time.now() >= giveUpAt) {
      throw new Error(
        `the read model has not reached offset ${unknown.at(-1)?.offset} of partition ${partition}: its projector is ` +
          'behind or not running, or Redis was emptied and is being rebuilt',
      )
    }
    await delay(time, backOff.nextMs(), closing)
    // All of them again only after the last one is known.
    if ((await lookUp(unknown.slice(-1))).length === 0) unknown = await lookUp(unknown)
  }
  return first

  /** Returns the claims that the read model does not know yet. */
  async function lookUp(candidates: readonly Claim[]): Promise<Claim[]> {
    const parts: Claim[][] = []
    for (let at = 0; at < candidates.length; at += MAX_IDS_PER_LOOK_UP)
      parts.push(candidates.slice(at, at + MAX_IDS_PER_LOOK_UP))
    const found = await readModel.lookUp(parts.map((part) => ({ partition, ids: part.map(({ id }) => id) })))
    return parts.flatMap((part, index) => {
      const { checkpoint, entries } = found[index] as (typeof found)[number]
      return part.filter((claim, at) => {
        const verdict = entryVerdict(partition, claim, { entry: readable(entries[at]), checkpoint })
        if (verdict === 'first') first.add(claim.offset)
        return verdict === 'unknown'
      })
    })
  }
}

/** The message of the read model is for the operators of the service: add what a consumer can do. */
function throwUnusable(error: unknown): never {
  if (!(error instanceof PreconditionError)) throw error
  throw new PreconditionError(
    `the read model cannot be used for first claims: ${error.message}. In this consumer: check that redisUrl and topic ` +
      'belong to the same service, and that this package is not older than the service',
  )
}
