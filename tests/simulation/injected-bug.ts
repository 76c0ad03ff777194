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
  /**
   * A seed that catches it, where the search starts: for a bug that few seeds catch. `npm run simulate -- --bugs NAME
   * --from 1` finds another one when schedules are drawn in another way.
   */
  firstSeed?: number
}

/** The seed at which the search for all other bugs starts. */
export const FIRST_SEED = 1

export const bug = (name: string, file: string, changes: readonly string[]): InjectedBug => ({ name, file, changes })

/** A bug that few seeds catch, with a seed that does. */
export const rare = (firstSeed: number, ...args: Parameters<typeof bug>): InjectedBug => ({
  ...bug(...args),
  firstSeed,
})

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
