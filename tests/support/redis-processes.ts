import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import { livingProcesses, type RunningProcess } from '../../local/processes/process.ts'
import { createAuthority, type Trusted } from '../../local/stores/certificates.ts'
import { ensureRedis } from '../../local/stores/jars.ts'
import { startRedis } from '../../local/stores/redis.ts'
import { openRedis } from './plant-store.ts'
import { temporaryFolder } from './temporary-folder.ts'

const STOP_GRACE_MS = 5_000

/** What it takes to start servers of this test: a folder, the program, and how they end with the test. */
export async function redisProcesses() {
  const redisServer = await ensureRedis()
  const dir = mkdtempSync(join(inject('testRun'), 'redis-'))
  onTestFinished(async () => {
    const started = livingProcesses().filter(({ logFile }) => logFile.startsWith(dir))
    for (const running of started) resume(running)
    await Promise.all(started.map((running) => running.stop({ graceMs: STOP_GRACE_MS })))
    rmSync(dir, { recursive: true, force: true })
  })
  return { dir, redisServer }
}

/** A server with these settings, by their names in redis.conf; it ends with the test. */
export async function startRedisProcess(more: Record<string, string | string[]>, at: { port?: number } = {}) {
  const { dir, ...processes } = await redisProcesses()
  return startRedis({ ...processes, ...at, dir: join(dir, 'server'), logFile: join(dir, 'server.log'), more })
}

/** A certificate for servers on this machine and their clients; it is removed with the test. */
export function issueCertificate(): Trusted {
  const authority = createAuthority(temporaryFolder())
  return { ca: authority.ca, ...authority.issue('redis', 'redis', ['127.0.0.1', 'localhost']) }
}

/** The settings with which a program uses it. */
export const tlsSettings = ({ ca, cert, key }: Trusted) =>
  ({ REDIS_TLS: 'on', REDIS_CA_FILE: ca, REDIS_CERT_FILE: cert, REDIS_KEY_FILE: key }) as const

/** A plain client of a server; it ends with the test. */
export const openClient = ({ port }: { port: number }): Redis => openRedis(`redis://127.0.0.1:${port}`)

/** It keeps its connections and does not respond, like a server that hangs. */
export function pause({ pid }: RunningProcess): void {
  process.kill(-pid, 'SIGSTOP')
}

export function resume({ pid }: RunningProcess): void {
  try {
    process.kill(-pid, 'SIGCONT')
  } catch {
    // It has ended.
  }
}

export function kill({ pid }: RunningProcess): void {
  process.kill(-pid, 'SIGKILL')
}
