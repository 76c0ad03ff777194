import { PARKED, reasonName } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionMeta, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createMeter, type Metrics, metricsIn } from '@plant-store/shared/runtime/metrics.ts'
import type { TableStores } from '@plant-store/shared/table/table.ts'
import type { TableWriter } from '@plant-store/shared/table/table-writer.ts'
import type { createProjector } from './projector.ts'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2]

type Observed = Pick<ReadModel, 'apply' | 'meta'>
type Counts = Pick<PartitionMeta, 'plants' | 'voids' | 'parked'>

/** Adds the metrics of a projector to the metrics of its process. */
export function addProjectorMetrics(metrics: Metrics) {
  const { counter, histogram, gauge } = metricsIn(metrics)
  const records = counter('projector_records_total', 'Records applied to the read model.')
  const parked = counter('projector_parked_total', 'Parked records, by reason.', ['reason'])
  for (const reason of Object.keys(PARKED)) parked.inc({ reason }, 0)
  const durations = histogram(
    'projector_apply_duration_seconds',
    'Time of each call that applies a batch to the read model, including failed calls.',
    SECONDS,
  )
  const stale = counter('projector_stale_total', 'Batches rejected by the read model because its checkpoint had moved.')
  const failures = counter(
    'projector_apply_failures_total',
    'Calls that apply a batch and failed or got no reply. Each is retried.',
  )
  const rows = counter('table_rows_total', 'Rows appended to the table, repeated ones included.')
  const appendFailures = counter(
    'table_append_failures_total',
    'Appends to the table without acknowledgement. Each is retried.',
  )
  const counts = new Map<Partition, Counts>()
  const batches = createMeter()

  return {
    /**
     * The records since the last call, the time of their batches, and how far the read model and the table are behind.
     */
    sample({ lag }: { lag(): number | undefined }, table?: Pick<TableWriter, 'lag'>) {
      const ofTable = table === undefined ? {} : { tableLag: table.lag() ?? null }
      return { ...batches.read(), lag: lag() ?? null, ...ofTable }
    },

    /** Wraps a read model so that its calls are measured. */
    observeReadModel({ apply, meta }: Observed): Observed {
      return {
        async apply(partition, expected, next, batch, freshGeneration) {
          const done = durations.startTimer()
          let appliedRecords = 0
          try {
            const applied = await apply(partition, expected, next, batch, freshGeneration)
            if (applied.is === 'stale') stale.inc()
            else {
              appliedRecords = batch.length
              countApplied(batch)
            }
            return applied
          } catch (error) {
            failures.inc()
            throw error
          } finally {
            batches.record(done() * 1_000, appliedRecords)
          }
        },
        async meta(partition) {
          const found = await meta(partition)
          counts.set(partition, found)
          return found
        },
      }
    },

    /** Wraps a table so that its appends are measured. */
    observeTable<T extends Pick<TableStores, 'appendEach'>>(table: T): T {
      return {
        ...table,
        async appendEach(records, channel) {
          const failures = await table.appendEach(records, channel)
          appendFailures.inc(failures.size)
          rows.inc(records.filter(({ partition }) => !failures.has(partition)).length)
          return failures
        },
      }
    },

    /** Adds the metrics that are read from the parts. */
    observeParts(
      projector: Pick<ReturnType<typeof createProjector>, 'checkpoints' | 'lag'>,
      { isReady }: Pick<ReadModel, 'isReady'>,
      table?: Pick<TableWriter, 'lag' | 'waiting'>,
    ): void {
      // Only the partitions of this projector: another one knows the counts of the others.
      const sum = (count: keyof Counts) => () =>
        [...projector.checkpoints().keys()]
          .map((partition) => counts.get(partition)?.[count] ?? 0)
          .reduce((total, each) => total + each, 0)

      gauge(
        'projector_partitions',
        'Partitions assigned to this projector whose checkpoint it knows.',
        () => projector.checkpoints().size,
      )
      gauge(
        'projector_lag_records',
        'Records in the log that the read model has not applied yet, in the partitions of this projector.',
        projector.lag,
      )
      gauge(
        'table_lag_records',
        'Records that the read model has applied and the table has not passed, in the partitions of this projector.',
        () => table?.lag(),
      )
      gauge(
        'table_waiting_partitions',
        'Partitions of this projector whose rows are not written since a failure. Each is retried.',
        () => table?.waiting(),
      )
      gauge('read_model_plants', 'Plants in the read model, in the partitions of this projector.', sum('plants'))
      gauge('read_model_voids', 'Void claims in the read model, in the partitions of this projector.', sum('voids'))
      gauge(
        'read_model_parked',
        'Parked records in the read model, in the partitions of this projector.',
        sum('parked'),
      )
      gauge('read_model_reachable', '1 while Redis is connected, else 0.', () => Number(isReady()))
    },
  }

  function countApplied(batch: Parameters<Observed['apply']>[3]): void {
    records.inc(batch.length)
    for (const { parked: number } of batch) {
      if (number !== undefined) parked.inc({ reason: reasonName(number) })
    }
  }
}
