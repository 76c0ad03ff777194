import { readFileSync } from 'node:fs'
import { expect, vi } from 'vitest'
import type { RunningService } from './plant-store.ts'

const WAIT = { timeout: 60_000, interval: 20 }

async function readyz({ opsUrl }: RunningService): Promise<{ status: number; reasons: string[] }> {
  const response = await fetch(`${opsUrl}/readyz`)
  const { ready, reasons } = (await response.json()) as { ready: boolean; reasons: string[] }
  expect([response.status, reasons.length === 0]).toEqual(ready ? [200, true] : [503, false])
  return { status: response.status, reasons }
}

/** Waits until a service is not ready for this reason; returns all its reasons of that moment. */
export function untilNotReady(service: RunningService, reason: RegExp, wait = WAIT): Promise<string[]> {
  return vi.waitFor(async () => {
    const { reasons } = await readyz(service)
    expect(reasons.join('\n')).toMatch(reason)
    return reasons
  }, wait)
}

export async function untilReady(...services: RunningService[]): Promise<void> {
  await vi.waitFor(async () => {
    for (const service of services) expect((await readyz(service)).reasons).toEqual([])
  }, WAIT)
}

/** Waits until a service has exited with code 78, and expects this reason as its last log line. */
export async function expectHalt(service: RunningService, reason: RegExp): Promise<void> {
  expect(await service.exited).toEqual({ code: 78, signal: null })
  const lines = readFileSync(service.logFile, 'utf8').trimEnd().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '') as { level: string; msg: string }
  expect([last.level, last.msg]).toEqual(['fatal', expect.stringMatching(reason)])
}
