import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionMeta } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { addGauge, type Metrics } from '@plant-store/shared/runtime/metrics.ts'
import { Counter, Histogram } from 'prom-client'
import type { createProjector } from './projector.ts'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2]

const REASONS = new Map(Object.entries(PARKED).map(([reason, number]) => [number, reason]))

type Observed = Pick<ReadModel, 'apply' | 'meta'>
type Counts = Pick<PartitionMeta, 'plants' | 'voids' | 'parked'>

/** Adds a projector's own metrics to those of its process. */
export function addProjectorMetrics(metrics: Metrics) {
  const registers = [metrics]
  const records = new Counter({
    name: 'plant_store_projector_records_total',
    help: 'Records applied to the read model.',
    registers,
  })
  const parked = new Counter({
    name: 'plant_store_projector_parked_total',
    help: 'Records applied that were parked, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of REASONS.values()) parked.inc({ reason }, 0)
  const durations = new Histogram({
    name: 'plant_store_projector_apply_duration_seconds',
    help: 'Time of each call that applies a batch to the read model, whatever came of it.',
    buckets: SECONDS,
    registers,
  })
  const stale = new Counter({
    name: 'plant_store_projector_stale_total',
    help: 'Batches that the read model refused because its checkpoint was another than expected.',
    registers,
  })
  const failures = new Counter({
    name: 'plant_store_projector_apply_failures_total',
    help: 'Calls to apply a batch of which no answer came, or an error; each is made again.',
    registers,
  })
  const counts = new Map<Partition, Counts>()

  return {
    /** The same read model, observed. */
    observeReadModel({ apply, meta }: Observed): Observed {
      return {
        async apply(partition, expected, next, batch, freshGeneration) {
          const done = durations.startTimer()
          try {
            const applied = await apply(partition, expected, next, batch, freshGeneration)
            if (applied.is === 'stale') stale.inc()
            else countApplied(batch)
            return applied
          } catch (error) {
            failures.inc()
            throw error
          } finally {
            done()
          }
        },
        async meta(partition) {
          const found = await meta(partition)
          counts.set(partition, found)
          return found
        },
      }
    },

    /** Adds what is asked of the parts, when they are there. */
    observeParts(
      projector: Pick<ReturnType<typeof createProjector>, 'checkpoints' | 'lag'>,
      { isReady }: Pick<ReadModel, 'isReady'>,
    ): void {
      const gauge = (name: string, help: string, read: () => number | undefined) =>
        addGauge(metrics, `plant_store_${name}`, help, read)
      // Of other partitions another projector knows better.
      const sum = (count: keyof Counts) => () =>
        [...projector.checkpoints().keys()]
          .map((partition) => counts.get(partition)?.[count] ?? 0)
          .reduce((total, each) => total + each, 0)

      gauge(
        'projector_partitions',
        'Partitions that this projector has and knows the checkpoint of.',
        () => projector.checkpoints().size,
      )
      gauge(
        'projector_lag_records',
        'Records in the log, as far as is known, that the read model has not passed yet, of its partitions.',
        projector.lag,
      )
      gauge('read_model_plants', 'Plants in the read model, of its partitions.', sum('plants'))
      gauge('read_model_voids', 'Claims of ids that were taken already, of its partitions.', sum('voids'))
      gauge('read_model_parked', 'Records parked in the read model, of its partitions.', sum('parked'))
      gauge('read_model_reachable', '1 while the connection to Redis stands, else 0.', () =>
        Number(isReady()),
      )
    },
  }

  function countApplied(batch: Parameters<Observed['apply']>[3]): void {
    records.inc(batch.length)
    for (const { parked: number } of batch) {
      if (number !== undefined) parked.inc({ reason: REASONS.get(number) as string })
    }
  }
}
