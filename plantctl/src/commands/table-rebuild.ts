import { refusalOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { TOPIC_NAME } from '@plant-store/shared/event-log/log-identity.ts'
import { NO_PROGRESS_MS, startWatchdog } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic, createTopic, TABLE } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, BEFORE_FIRST, FIRST } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatDuration } from '@plant-store/shared/runtime/format.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import { openTable } from '@plant-store/shared/table/table.ts'
import { createTableWriter } from '@plant-store/shared/table/table-writer.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, readOptions, TEXT } from '../options.ts'
import { RebuildError } from '../rebuild/rebuild-error.ts'
import { retryForSeconds, type Store, withStore } from '../store/open-store.ts'
import { readCheckpoints } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'

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
  let rows = 0
  let failure: Error | undefined
  const watching = new AbortController()
  const writer = createTableWriter({
    ...{ ...table, log: store.log, time: systemTime },
    async appendEach(records, channel) {
      const failures = await table.appendEach(records, channel)
      rows += records.filter(({ partition }) => !failures.has(partition)).length
      return failures
    },
    onHalt(error) {
      failure = error
    },
  })
  try {
    writer.follow(checkpoints)
    await withProgress(context, 'writing', async ({ work, onStart }) => {
      onStart(total)
      const { onAlive } = startWatchdog(systemTime, watching.signal, () => {
        const why = `no progress for ${NO_PROGRESS_MS / 1_000} s: ${writer.problems().join()}`
        failure = new RebuildError(`${why}. Run it again to continue`)
      })
      // Until it is known what the table has.
      while (writer.lag() === undefined) await wait()
      work.before = total - (writer.lag() ?? 0)
      while (work.passed < total) {
        const passed = total - (writer.lag() ?? total)
        if (passed > work.passed) onAlive()
        work.passed = Math.max(work.passed, passed)
        if (passed < total) await wait()
      }
    })
    return rows
  } finally {
    watching.abort()
    await writer.close()
    await table.close()
  }

  async function wait(): Promise<void> {
    await delay(systemTime, CHECK_EVERY_MS, signal)
    signal.throwIfAborted()
    if (failure !== undefined) throw failure
  }
}

/** Opens the table in a topic that has no records, or only rows of an interrupted run. */
async function openTableIn(store: Store, topic: string, signal: AbortSignal) {
  const { kafka, partitions, log } = store
  const settings = { topic, partitions }
  await createTopic(kafka, settings, TABLE).catch((error: unknown) => {
    // If plantctl may not create topics, the check reports a missing one.
    if (refusalOf(error, settings) === undefined) throw error
  })
  // The brokers lead the partitions of a new topic a little later.
  const { topicId, ends } = await retryForSeconds(() => checkTopic(kafka, settings, TABLE), topic)
  const table = openTable(store, topic, { tableId: topicId }, { log, time: systemTime })
  const used = allPartitions(partitions).filter((partition) => ends[partition] !== FIRST)
  const latest = await readLatestRows({ ...store, table: topic, signal }, used)
  for (const partition of used) {
    if (!latest.has(partition))
      throw new Error(`partition ${partition} of topic ${topic} has records that are not of a table: name a new topic`)
  }
  return table
}
