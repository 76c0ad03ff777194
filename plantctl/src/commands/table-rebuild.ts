import { refusalOf } from '@plant-store/shared/event-log/broker-errors.ts'
import type { Kafka } from '@plant-store/shared/event-log/connection.ts'
import {
  checkTopic,
  createTopic,
  TABLE,
  type TopicSettings,
  type TopicState,
} from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, BEFORE_FIRST, FIRST } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatDuration } from '@plant-store/shared/runtime/format.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import { TOPIC_NAME } from '@plant-store/shared/stores/store-settings.ts'
import { openTable } from '@plant-store/shared/table/table.ts'
import { createTableWriter, type TableWriter } from '@plant-store/shared/table/table-writer.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, readOptions, TEXT } from '../options.ts'
import { NO_PROGRESS_MS, RebuildError, startWatchdog } from '../rebuild/rebuild-error.ts'
import { retryForSeconds, type Store, withStore } from '../store/open-store.ts'
import { readCheckpoints } from '../store/read-log.ts'
import { type Work, withProgress } from '../terminal/progress.ts'

const CHECK_EVERY_MS = 50
const help = `Writes the table anew into another topic: the row of each plant in the read model, with the texts of the log. The
store runs on, and its present table stays as it is.

  plantctl table rebuild --into plants.table.2

  --into   the new topic. It is created, if Kafka lets plantctl do so; otherwise create it first: compacted, with as many
           partitions as the log. A topic that holds other records, or the table of another log, is refused
  --json   one JSON object: "topic", number of "rows", "seconds"

If it is interrupted, run it again: it continues. Afterwards restart the projectors with PLANTS_TABLE=plants.table.2,
verify the table, let each consumer read the new topic from its beginning, and delete the old one.
`

/** plantctl table rebuild */
export const tableRebuild: Command = {
  summary: 'writes the table anew into another topic',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { into: TEXT, json: FLAG })
    const { into: topic, json } = values
    if (topic === undefined) throw new UsageError('table rebuild needs --into with the name of a new topic')
    if (!TOPIC_NAME.test(topic)) throw new UsageError(`--into ${topic}: expected a Kafka topic name`)
    return withStore(context, async (store) => {
      if (topic === store.topic || topic === store.table)
        throw new UsageError(`--into ${topic}: the store uses this topic, name a new one`)
      const startedAt = performance.now()
      const rows = await writeTable(store, topic, context)
      const elapsedMs = performance.now() - startedAt
      await context.print(
        json
          ? `${JSON.stringify({ topic, rows, seconds: Math.round(elapsedMs) / 1_000 })}\n`
          : `Wrote ${formatCount(rows, 'row')} into ${topic} in ${formatDuration(elapsedMs)}\n`,
      )
      context.printError(`Next: restart the projectors with PLANTS_TABLE=${topic}. --help lists the further steps.\n`)
      return EXIT.ok
    })
  },
}

/** Writes the rows up to the present checkpoints of the read model; returns their number. */
async function writeTable(store: Store, topic: string, context: CliContext): Promise<number> {
  const { signal } = context
  const checkpoints = await readCheckpoints(store)
  const total = [...checkpoints.values()].reduce((sum, { offset }) => sum + offset - BEFORE_FIRST, 0)
  const table = await openTableIn(store, topic, signal)
  const failed = Promise.withResolvers<never>()
  const ended = new AbortController()
  const ending = AbortSignal.any([signal, ended.signal])
  let rows = 0
  const writer = createTableWriter({
    ...{ ...table, log: store.log, time: systemTime },
    async append(records) {
      await table.append(records)
      rows += records.length
    },
    onHalt: failed.reject,
  })
  const { onAlive } = startWatchdog(systemTime, ending, () => {
    const why = `no progress for ${NO_PROGRESS_MS / 1_000} s: ${writer.problems().join()}`
    failed.reject(new RebuildError(`${why}. Run it again to continue`))
  })
  try {
    await withProgress(context, 'writing', ({ work, onStart }) => {
      onStart(total)
      writer.follow(checkpoints)
      return Promise.race([passAll(work, writer, { onAlive, signal: ending }), failed.promise])
    })
    return rows
  } finally {
    ended.abort()
    await writer.close()
    await table.close()
  }
}

/** Opens the table in a topic that has no records, or only rows of an interrupted run. */
async function openTableIn(store: Store, topic: string, signal: AbortSignal) {
  const { kafka, partitions, log } = store
  const { topicId, ends } = await ensureTopic(kafka, { topic, partitions })
  const table = openTable(store, topic, { tableId: topicId }, { log, time: systemTime })
  const used = allPartitions(partitions).filter((partition) => ends[partition] !== FIRST)
  const latest = await table.latestRows(used, signal)
  for (const partition of used) {
    if (!latest.has(partition))
      throw new Error(`partition ${partition} of topic ${topic} has records that are not of a table: name a new topic`)
  }
  return table
}

/** If plantctl may not create topics, the check reports the missing topic. */
async function ensureTopic(kafka: Kafka, settings: TopicSettings): Promise<TopicState> {
  try {
    await createTopic(kafka, settings, TABLE)
  } catch (error) {
    if (refusalOf(error, settings) === undefined) throw error
  }
  // The brokers lead the partitions of a new topic a little later.
  return retryForSeconds(() => checkTopic(kafka, settings, TABLE), settings.topic)
}

/** Resolves when the writer has passed everything; rejects when the signal is aborted. */
async function passAll(
  work: Work,
  writer: TableWriter,
  { onAlive, signal }: { onAlive(): void; signal: AbortSignal },
): Promise<void> {
  const nextLag = async () => {
    await delay(systemTime, CHECK_EVERY_MS, signal)
    signal.throwIfAborted()
    return writer.lag()
  }
  // Until it is known what the table has.
  let lag = writer.lag()
  while (lag === undefined) lag = await nextLag()
  work.before = work.total - lag
  for (; lag > 0; lag = (await nextLag()) ?? lag) {
    if (work.total - lag > work.passed) onAlive()
    work.passed = work.total - lag
  }
  work.passed = work.total
}
