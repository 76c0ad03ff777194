import { setTimeout as delay } from 'node:timers/promises'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { createReadModel, type ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'

const SAMPLE_EVERY_MS = 20
const POLL_EVERY_MS = 1
/** A projector with this much lag has stopped. */
const GIVE_UP_AFTER_MS = 30_000

/**
 * Measures the time from the acknowledgement of a create until the checkpoint of the read model has reached its
 * position. Only some creates are sampled. While one is awaited, the checkpoint of its partition is read every ms.
 */
export async function watchLag(settings: ReadModelSettings, record: (ms: number) => void) {
  const readModel = createReadModel(settings, createLog('bench', 'error'))
  await readModel.ready()
  const samples: Promise<void>[] = []
  let sampledAt = 0

  async function follow(position: string, since: number): Promise<void> {
    const [partition, offset] = position.split('-').map(Number) as [Partition, number]
    while ((await readModel.meta(partition)).checkpoint.offset < offset) {
      if (performance.now() - since > GIVE_UP_AFTER_MS)
        throw new Error(`a create is not in the read model ${GIVE_UP_AFTER_MS / 1_000} s later: ${position}`)
      await delay(POLL_EVERY_MS)
    }
    record(performance.now() - since)
  }

  return {
    /** An acknowledged create, by the consistency token of its response. */
    note(position: string): void {
      const now = performance.now()
      if (now - sampledAt < SAMPLE_EVERY_MS) return
      sampledAt = now
      samples.push(follow(position, now))
    },

    /** Resolves when the last sample is in the read model. */
    async end(): Promise<void> {
      await Promise.all(samples)
      await readModel.close()
    },
  }
}
