export type RunOptions = {
  seed: number
  minutes: number
  /** The means by which Redis fails over. */
  redis: 'sentinels' | 'cluster'
  /** The experiments to run, from this number to this one; all that fit into the minutes unless given. */
  experiments?: readonly [from: number, to: number] | undefined
  /** Parts of kinds of faults: the experiments have these in turn, each alone. Drawn unless given. */
  kinds?: readonly string[] | undefined
  /** Duration of the faults; the one that a fault declares, or a drawn one, unless given. */
  holdMs?: number | undefined
  /** Time without load before each fault. */
  restMs?: number | undefined
  /** Creates a second, and as many reads. */
  rate: number
  /** The name of an injected bug that api, projector and consumers have. */
  bug?: string | undefined
  /** The folder of another release, which the services start with. */
  former?: string | undefined
  say(line: string): void
}
