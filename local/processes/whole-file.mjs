import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file that readers see either as it was or as it will be, never half written.
 *
 * @param {string} file
 * @param {string} text
 * @param {{ mode?: number }} [options]
 */
export function writeWhole(file, text, { mode = 0o644 } = {}) {
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.${process.pid}.part`
  writeFileSync(part, text, { mode })
  renameSync(part, file)
}

/**
 * Creates a file with its text in it; of several that try at once one succeeds.
 *
 * @param {string} file
 * @param {string} text
 * @returns {boolean} false when the file is there already
 */
export function createWhole(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.${process.pid}.part`
  writeFileSync(part, text)
  try {
    linkSync(part, file)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(part)
  }
}
