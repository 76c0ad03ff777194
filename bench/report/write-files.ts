import { mkdirSync, writeFileSync } from 'node:fs'

const FOLDER = new URL('../../docs/bench/', import.meta.url)

/** Writes these files, by name, to docs/bench. Returns their paths. */
export function writeFiles(files: ReadonlyMap<string, string>): string[] {
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, content] of files) writeFileSync(new URL(name, FOLDER), content)
  return [...files.keys()].map((name) => `docs/bench/${name}`)
}
