import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A mistake planted into the product's source, on its way into the simulation. The files stay as they are. */
export type PlantedBug = {
  name: string
  /** The file it is planted into, from the root of the project. */
  file: string
  /** Text that the file has exactly once, and what stands there instead. */
  edits: readonly (readonly [from: string, to: string])[]
  /**
   * A seed that catches it, where the search starts: for a bug that few seeds catch. `npm run simulate -- --bugs NAME
   * --from 1` finds another one when schedules are drawn in another way.
   */
  near?: number
}

export const bug = (name: string, file: string, ...edits: [string, string][]): PlantedBug => ({
  name,
  file,
  edits,
})

/** One that few seeds catch, and a seed that does. */
export const rare = (near: number, ...args: Parameters<typeof bug>): PlantedBug => ({ ...bug(...args), near })

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
