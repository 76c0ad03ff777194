import { readFileSync } from 'node:fs'
import { type ModuleHooks, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A mistake in the product's source, made when the simulation loads it. The files do not change. */
export type InjectedBug = {
  name: string
  /** The file, from the root of the project. */
  file: string
  /**
   * Changes of texts that occur exactly once in the file, as `git diff --word-diff` shows them: `[-removed-]` and
   * `{+added+}`, with what is around them.
   */
  changes: readonly string[]
  /** The seed where the search starts: 1, or for a bug that few seeds catch one that does. */
  firstSeed: number
}

/** `npm run simulate -- --bugs --record` writes it. */
export const SEEDS_FILE = new URL('first-seeds.json', import.meta.url)
const firstSeeds: Record<string, number> = JSON.parse(readFileSync(SEEDS_FILE, 'utf8'))

/** The bugs of each file, each with one change or several. */
export const bugsOf = (files: Record<string, Record<string, string | readonly string[]>>): InjectedBug[] =>
  Object.entries(files).flatMap(([file, bugs]) =>
    Object.entries(bugs).map(([name, changes]) => ({
      ...{ name, file, changes: [changes].flat(), firstSeed: firstSeeds[name] ?? 1 },
    })),
  )

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Injects the bug into the later imports of this thread. They throw when the source no longer has its text. */
export function injectBug(bug: InjectedBug): ModuleHooks {
  return registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.startsWith('file:') || fileURLToPath(url) !== pathOf(bug)) return loaded
      return { ...loaded, source: withBug(Buffer.from(loaded.source as Uint8Array).toString(), bug) }
    },
  })
}

/** The absolute path of the file that the bug is injected into. */
export const pathOf = ({ file }: InjectedBug): string => `${root}${file}`

const REMOVED = /\[-(.*?)-\]/gs
const ADDED = /\{\+(.*?)\+\}/gs

/** The source with the bug. Throws when it does not have each text exactly once. */
export function withBug(source: string, { name, file, changes }: InjectedBug): string {
  return changes.reduce((changed, change) => {
    const from = change.replaceAll(ADDED, '').replaceAll(REMOVED, '$1')
    const to = change.replaceAll(REMOVED, '').replaceAll(ADDED, '$1')
    const [before, after, more] = changed.split(from)
    if (before === undefined || after === undefined || more !== undefined) {
      throw new Error(`"${name}": ${file} must have this text exactly once:\n${from}`)
    }
    return before + to + after
  }, source)
}
