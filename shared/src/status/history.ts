/** A value of one second, by the name of its chart; null where there is none, such as a latency without requests. */
export type Sample = Record<string, number | null>

/** Samples from the oldest to the newest; `times` are milliseconds since 1970. */
export type Samples = { times: number[]; values: Record<string, (number | null)[]> }

/** One sample a second, of the last 15 minutes. */
const MAX_SAMPLES = 15 * 60

export type History = ReturnType<typeof createHistory>

/** The newest samples of a process; older ones are forgotten. */
export function createHistory(maxSamples = MAX_SAMPLES) {
  const kept: { time: number; sample: Sample }[] = []

  return {
    add(time: number, sample: Sample): void {
      kept.push({ time, sample })
      if (kept.length > maxSamples) kept.shift()
    },

    /** The samples that are newer than this time. */
    since(time: number): Samples {
      const newer = kept.filter((one) => one.time > time)
      const names = Object.keys(newer.at(-1)?.sample ?? {})
      return {
        times: newer.map((one) => one.time),
        values: Object.fromEntries(names.map((name) => [name, newer.map(({ sample }) => sample[name] ?? null)])),
      }
    },
  }
}
