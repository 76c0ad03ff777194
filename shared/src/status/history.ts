/** A value of one second, by the name of its chart; null where there is none, such as a latency without requests. */
export type Sample = Record<string, number | null>

/** `time` is in milliseconds since 1970. */
export type TimedSample = Sample & { time: number }

/** One sample a second, of the last 15 minutes. */
const MAX_SAMPLES = 15 * 60

/** The newest samples of a process; older ones are forgotten. */
export function createHistory(maxSamples = MAX_SAMPLES) {
  const kept: TimedSample[] = []
  return {
    add(sample: TimedSample): void {
      // The clock may have been set back.
      while ((kept.at(-1)?.time ?? -Infinity) >= sample.time) kept.pop()
      kept.push(sample)
      if (kept.length > maxSamples) kept.shift()
    },

    /** The samples that are newer than this time, the oldest first. */
    since: (time: number): TimedSample[] => kept.filter((sample) => sample.time > time),
  }
}
