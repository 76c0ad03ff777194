import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'

/** A folder of this test alone, removed with all it holds when the test ends. */
export function temporaryFolder(): string {
  // Unit tests that run without the others have no folder of the run.
  const run = inject('testRun') as string | undefined
  const folder = mkdtempSync(join(run ?? tmpdir(), 'test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
