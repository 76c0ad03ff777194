import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { readyz } from './is-ready.ts'
import type { RunningService } from './plant-store.ts'

type Readyz = { ready: boolean; reasons: string[]; notices: string[] }

async function stateOf({ opsUrl }: RunningService): Promise<Omit<Readyz, 'ready'>> {
  const response = await readyz(opsUrl)
  const { ready, reasons, notices } = (await response.json()) as Readyz
  expect([response.status, reasons.length === 0]).toEqual(ready ? [200, true] : [503, false])
  return { reasons, notices }
}

/** Waits until a service is not ready for this reason; returns all its reasons of that moment. */
export function untilNotReady(service: RunningService, reason: RegExp): Promise<string[]> {
  return eventually(async () => {
    const { reasons } = await stateOf(service)
    expect(reasons.join('\n')).toMatch(reason)
    return reasons
  })
}

/** Waits until a service has these notices. */
export async function untilNotices(service: RunningService, ...notices: RegExp[]): Promise<void> {
  await eventually(async () => {
    expect((await stateOf(service)).notices).toEqual(notices.map((notice) => expect.stringMatching(notice)))
  })
}

export async function untilReady(...services: RunningService[]): Promise<void> {
  await eventually(async () => {
    for (const service of services) expect((await stateOf(service)).reasons).toEqual([])
  })
}

/** Waits until a service has exited with code 78, and expects this reason as its last log line. */
export async function expectHalt(service: RunningService, reason: RegExp): Promise<void> {
  expect(await service.exited).toEqual({ code: 78, signal: null })
  const lines = readFileSync(service.logFile, 'utf8').trimEnd().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '') as { level: string; msg: string }
  expect([last.level, last.msg]).toEqual(['fatal', expect.stringMatching(reason)])
}
