import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { createLatencies, type Latency } from './latency.ts'

const SAMPLE_EVERY_MS = 20
const ASK_EVERY_MS = 1
/** A projector that is so late has stopped. */
const GIVE_UP_AFTER_MS = 30_000

/**
 * How long it takes from the acknowledgement of a create until the read model has passed its place in the log. Some creates are
 * taken as samples; while one is awaited, its partition's checkpoint is asked for each ms.
 */
export async function watchLag(settings: ReadModelSettings) {
  const readModel = createReadModel(settings, createLog('bench', 'error'))
  await readModel.ready()
  const lags = createLatencies()
  const awaited: { partition: Partition; offset: number; since: number }[] = []
  let sampledAt = 0
  let going = true

  async function ask(): Promise<void> {
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

  const asking = (async () => {
    const patience = { until: Number.POSITIVE_INFINITY }
    while (going || awaited.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
      if (!going) patience.until = Math.min(patience.until, performance.now() + GIVE_UP_AFTER_MS)
      if (performance.now() > patience.until)
        throw new Error(`${awaited.length} creates are not in the read model ${GIVE_UP_AFTER_MS / 1_000} s later`)
      if (awaited.length > 0) await ask()
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
      await asking
      await readModel.close()
      return lags.result()
    },
  }
}
