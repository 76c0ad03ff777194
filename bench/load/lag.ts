import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { createLatencies, type Latency } from './latency.ts'

const SAMPLE_EVERY_MS = 20
const POLL_EVERY_MS = 1
/** A projector with this much lag has stopped. */
const GIVE_UP_AFTER_MS = 30_000

/**
 * Measures the time from the acknowledgement of a create until the checkpoint of the read model has reached its
 * position. Only some creates are sampled. While one is awaited, the checkpoint of its partition is read every ms.
 */
export async function watchLag(settings: ReadModelSettings) {
  const readModel = createReadModel(settings, createLog('bench', 'error'))
  await readModel.ready()
  const lags = createLatencies()
  const awaited: { partition: Partition; offset: number; since: number }[] = []
  let sampledAt = 0
  let going = true

  async function poll(): Promise<void> {
    const partitions = allPartitions(settings.partitions).filter((each) =>
      awaited.some(({ partition }) => partition === each),
    )
    const metas = await Promise.all(partitions.map((partition) => readModel.meta(partition)))
    const now = performance.now()
    for (const [n, { checkpoint }] of metas.entries()) {
      const passed = awaited.filter((s) => s.partition === partitions[n] && s.offset <= checkpoint.offset)
      for (const sample of passed) {
        lags.record(now - sample.since)
        awaited.splice(awaited.indexOf(sample), 1)
      }
    }
  }

  const polling = (async () => {
    const patience = { until: Number.POSITIVE_INFINITY }
    while (going || awaited.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS))
      if (!going) patience.until = Math.min(patience.until, performance.now() + GIVE_UP_AFTER_MS)
      if (performance.now() > patience.until)
        throw new Error(`${awaited.length} creates are not in the read model ${GIVE_UP_AFTER_MS / 1_000} s later`)
      if (awaited.length > 0) await poll()
    }
  })()

  return {
    /** An acknowledged create, by the consistency token of its response. */
    note(position: string): void {
      const now = performance.now()
      if (now - sampledAt < SAMPLE_EVERY_MS) return
      sampledAt = now
      const [partition, offset] = position.split('-').map(Number)
      awaited.push({ partition: partition as Partition, offset: offset as number, since: now })
    },

    /** Resolves when the last sample is in the read model. */
    async end(): Promise<Latency> {
      going = false
      await polling
      await readModel.close()
      return lags.result()
    },
  }
}
