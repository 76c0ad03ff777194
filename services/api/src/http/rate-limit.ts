import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { HttpError } from './errors.ts'

const WINDOW_MS = 60_000
const MOST_CALLERS_COUNTED = 10_000

/** Each caller, whatever its token, may send so many requests a minute to this instance. */
export async function limitRates(operations: FastifyInstance, perMinute: number): Promise<void> {
  await operations.register(rateLimit, {
    ...{ hook: 'onRequest', max: perMinute, timeWindow: WINDOW_MS, cache: MOST_CALLERS_COUNTED },
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller,
    errorResponseBuilder: () => new HttpError('tooManyRequests'),
  })
}
