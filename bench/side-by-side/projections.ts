import { compareReaders } from '../replay/compare.ts'
import type { Projections } from '../report/results.ts'
import type { BenchStores } from '../stores.ts'

/** The default of PLANTS_PARTITIONS. */
const PARTITIONS = 12

/** How fast the log is read by a consumer that does nothing, by a projector, and by a rebuild. */
export async function measureProjections(
  stores: BenchStores,
  { events, rounds }: { events: number; rounds: number },
  say: (line: string) => void,
): Promise<Projections> {
  const { runs } = await compareReaders(stores, { events, partitions: PARTITIONS, rounds }, say)
  const perEvent = (seconds: number) => (seconds / events) * 1e6
  const readers = [...runs].map(([reader, measured]) => ({
    reader,
    runs: measured.map(({ seconds, cpuSeconds, redisCpuSeconds, redisBytes }) => ({
      eventsPerSecond: events / seconds,
      cpuMicros: perEvent(cpuSeconds),
      redisMicros: perEvent(redisCpuSeconds),
      redisBytesPerEvent: redisBytes / events,
    })),
  }))
  return { events, partitions: PARTITIONS, readers }
}
