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
