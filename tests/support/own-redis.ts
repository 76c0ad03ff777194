import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ensureJars } from '../../local/stores/jars.mjs'
import { startRedis } from '../../local/stores/redis.mjs'
import { temporaryFolder } from './temporary-folder.ts'

const STOP_GRACE_MS = 5_000

/** A Redis of this test alone, to be filled up, set wrong or stopped; it ends with the test. */
export async function startOwnRedis(options: { port?: number } = {}) {
  const { redisServer } = await ensureJars({ kafka: false })
  const dir = temporaryFolder()
  const redis = await startRedis({ dir, redisServer, logFile: join(dir, 'redis.log'), ...options })
  const stop = () => redis.stop({ graceMs: STOP_GRACE_MS })
  onTestFinished(async () => {
    await stop()
  })
  return { url: redis.url, port: redis.port, stop }
}
