import { randomUUID } from 'node:crypto'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { projectorGroup } from '@plant-store/shared/event-log/groups.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import { type LogRecord, recordReader, type StoredRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { runService, type ServiceContext } from '@plant-store/shared/runtime/service.ts'
import { Port, readSettings } from '@plant-store/shared/runtime/settings.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { openServiceStores } from '@plant-store/shared/stores/service-stores.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { openTable } from '@plant-store/shared/table/table.ts'
import { createTableWriter } from '@plant-store/shared/table/table-writer.ts'
import { withinBatchSpan } from '@plant-store/shared/tracing/spans.ts'
import { startTracing } from '@plant-store/shared/tracing/start-tracing.ts'
import { traceparentIn } from '@plant-store/shared/tracing/traceparent.ts'
import { Type } from 'typebox'
import { addProjectorMetrics } from './metrics.ts'
import { createProjector } from './projector.ts'

/** Settings of the projector; docs/reference/settings.md explains each. */
const ProjectorSettings = Type.Object({ ...SERVICE_SETTINGS, OPS_PORT: Port(3101) })

const FETCH_LIMITS = { maxWaitTimeInMs: 500 }
/** Fuller fetches cost less. The creates of several apis wait for the read model, and so for these waits. */
const FETCH_PACE = { records: 8, shortestMs: 4, longestMs: 25 }

async function start(context: ServiceContext): Promise<void> {
  const { log, fail, closeLater } = context
  const settings = readSettings(ProjectorSettings, process.env)
  const isTraced = await startTracing(context, settings)
  const metrics = createMetrics(context.name)
  const observe = addProjectorMetrics(metrics)
  const service = await openServiceStores('projector', settings, metrics, context)
  const { kafka, readModel, topic, partitions, startState } = service

  const common = { log, time: systemTime, onHalt: fail }
  const groupId = projectorGroup(topic)
  const table = service.table === undefined ? undefined : openTable(service, service.table, startState, common)
  // Without onHalt: what is wrong with the table does not stop the read model.
  const writer = table && createTableWriter({ ...observe.observeTable(table), log, time: systemTime })
  const projector = createProjector({
    readModel: observe.observeReadModel(readModel),
    follow: (sink) =>
      createFollower({
        ...(isTraced
          ? traceProcessing(sink, { topic, partitions, groupId })
          : { ...sink, read: recordReader(partitions) }),
        kafka,
        topic,
        partitions,
        topicId: startState.topicId,
        log,
        time: systemTime,
        groupId: () => groupId,
        fetchLimits: FETCH_LIMITS,
        fetchPace: FETCH_PACE,
      }),
    ...common,
    freshGeneration: randomUUID,
    table: writer,
  })
  if (table !== undefined) closeLater(table.close)
  if (writer !== undefined) closeLater(writer.close)
  closeLater(projector.close)
  projector.start()
  observe.observeParts(projector, readModel, writer)
  service.showSamples(() => observe.sample(projector, writer))
  service.watch({
    passed: projector.checkpoints,
    updateEnds: projector.updateEnds,
    problems: () => [...readModel.problems(), ...projector.problems(), ...(writer?.problems() ?? [])],
    notices: () => table?.throttling() ?? [],
  })
  void projector.verified.then(service.reportReady)
  log.info({ operationsPort: service.operationsPort, topic, partitions }, 'projecting')
}

type TracedRecord = LogRecord & Pick<Parameters<typeof withinBatchSpan>[2][number], 'traceparent'>

/** A sink that applies each delivery within its span, and the reader of the records for it. */
function traceProcessing(sink: RecordSink, place: { topic: string; partitions: number; groupId: string }) {
  const read = recordReader(place.partitions)
  return {
    ...sink,
    read: (record: StoredRecord, partition: Partition): TracedRecord => ({
      ...read(record, partition),
      traceparent: traceparentIn(record),
    }),
    onRecords: (partition, records, next, from) =>
      withinBatchSpan('process', { ...place, partition }, records, () =>
        sink.onRecords(partition, records, next, from),
      ),
  } satisfies RecordSink<TracedRecord> & { read: unknown }
}

await runService('projector', process.env.LOG_LEVEL, start)
