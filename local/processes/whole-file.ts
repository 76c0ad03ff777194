import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file that readers see either as it was or as it will be, never half written. */
export function writeWhole(file: string, text: string, { mode = 0o644, publish = renameSync } = {}): void {
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.${process.pid}.part`
  try {
    writeFileSync(part, text, { mode })
    publish(part, file)
  } finally {
    rmSync(part, { force: true })
  }
}
