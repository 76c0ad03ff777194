import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'

/** A folder of this test alone, removed with all it holds when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(inject('testRun'), 'test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
