import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { PlantedBug } from './planted-bug.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** From now on what this thread imports has the bug. Throws when the source is no longer what it was made for. */
export function plantBug({ name, file, edits }: PlantedBug): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.startsWith('file:') || fileURLToPath(url) !== `${root}${file}`) return loaded
      let source = Buffer.from(loaded.source as Uint8Array).toString()
      for (const [from, to] of edits) {
        const [before, after, more] = source.split(from)
        if (before === undefined || after === undefined || more !== undefined) {
          throw new Error(`"${name}": ${file} does not have this exactly once any more:\n${from}`)
        }
        source = before + to + after
      }
      return { ...loaded, source }
    },
  })
}
