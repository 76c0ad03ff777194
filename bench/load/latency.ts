import { build } from 'hdr-histogram-js'

/** In ms. */
export type Latency = { p50: number; p90: number; p99: number; p999: number; max: number }

const MAX_US = 120_000_000

/** Records latencies in ms and returns their percentiles, with a resolution of 1 µs and three significant digits. */
export function createLatencies() {
  const histogram = build({
    bitBucketSize: 32,
    lowestDiscernibleValue: 1,
    highestTrackableValue: MAX_US,
    numberOfSignificantValueDigits: 3,
  })
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1_000
  return {
    record(ms: number): void {
      histogram.recordValue(Math.min(MAX_US, Math.max(1, Math.round(ms * 1_000))))
    },
    result: (): Latency => ({ p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: at(100) }),
  }
}
