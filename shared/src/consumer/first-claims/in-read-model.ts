import type { Claim } from '../../plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '../../plant/position.ts'
import { readable } from '../../read-model/entry.ts'
import { createLookUp, LOOK_UP_SCRIPTS, type LookUp } from '../../read-model/look-up.ts'
import { connectRedis } from '../../read-model/redis.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { createBackOff } from '../../runtime/retry.ts'
import { delay, type Time } from '../../runtime/time.ts'
import { entryVerdict } from './entry-verdict.ts'
import type { FirstClaims } from './first-claims.ts'

export type { FirstClaims }

/** How long one call waits for the projector; who called comes back after a while. */
const WAIT_FOR_PROJECTOR_MS = 1_000
const ASK_AGAIN = { firstMs: 2, longestMs: 50 }
const MAX_IDS_ASKED = 1_000

/**
 * Asks the service's read model in Redis (`redis://…` or `rediss://…`) who was first: nothing is kept here, and nothing
 * read twice. Events come as soon as the service's projector has taken them in. While Redis is away, or was emptied and is
 * filled again, the consumer waits, and says so. Needs the package ioredis, and of Redis only to read.
 */
export function inReadModel({ redisUrl }: { redisUrl: string }): FirstClaims {
  return {
    async open({ topic, partitions, log, time }) {
      if (!/^rediss?:\/\//.test(redisUrl)) {
        throw new PreconditionError('redisUrl must be the address of a Redis, redis://… or rediss://…')
      }
      const { redis, ready, close } = connectRedis(redisUrl, LOOK_UP_SCRIPTS, log)
      const readModel = createLookUp(redis, { topic, partitions })
      const closing = new AbortController()
      // One that is away is waited for where an answer is needed.
      await ready().catch(() => {})

      return {
        /** What the log has to hold there, if this is its read model. One that is empty has nothing to be held to. */
        async checkpointOf(partition) {
          const { checkpoint } = await readModel.meta(partition).catch(refuse)
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

/** Where those of these claims lie that are the first ones of their ids. Rejects when the model can't tell in time. */
async function firstOffsets(
  readModel: LookUp,
  partition: Partition,
  claims: readonly Claim[],
  time: Time,
  closing: AbortSignal,
): Promise<ReadonlySet<Offset>> {
  const first = new Set<Offset>()
  const backOff = createBackOff(ASK_AGAIN)
  const giveUpAt = time.now() + WAIT_FOR_PROJECTOR_MS
  let unknown = await ask(claims)
  while (unknown.length > 0) {
    if (closing.aborted || time.now() >= giveUpAt) {
      throw new Error(
        `the read model has not come to offset ${unknown.at(-1)?.offset} of partition ${partition}: its projector is ` +
          'behind or does not run, or Redis was emptied and is being filled again',
      )
    }
    await delay(time, backOff.nextMs(), closing)
    // All of them again only when the last one is there, too.
    if ((await ask(unknown.slice(-1))).length === 0) unknown = await ask(unknown)
  }
  return first

  /** Returns those that the model does not know yet. */
  async function ask(asked: readonly Claim[]): Promise<Claim[]> {
    const parts: Claim[][] = []
    for (let at = 0; at < asked.length; at += MAX_IDS_ASKED) parts.push(asked.slice(at, at + MAX_IDS_ASKED))
    const answers = await readModel.lookUp(
      parts.map((part) => ({ partition, ids: part.map(({ id }) => id) })),
    )
    return parts.flatMap((part, index) => {
      const { checkpoint, entries } = answers[index] as (typeof answers)[number]
      return part.filter((claim, at) => {
        const verdict = entryVerdict(partition, claim, { entry: readable(entries[at]), checkpoint })
        if (verdict === 'first') first.add(claim.offset)
        return verdict === 'unknown'
      })
    })
  }
}

/** The model's own words are for those who run the service. */
function refuse(error: unknown): never {
  if (!(error instanceof PreconditionError)) throw error
  throw new PreconditionError(
    `the read model can not be used for first claims: ${error.message}. Here: see that redisUrl and topic are those of ` +
      'one service, and that this package is as new as it',
  )
}
