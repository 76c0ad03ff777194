import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { TABLE } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { type CliContext, type Command, EXIT, type ExitCode, UsageError } from '../command.ts'
import { partitionsOf, readOptions } from '../options.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { logReader, readLogEnds, tableReader } from '../store/read-log.ts'
import { createReadingProgress } from '../terminal/progress.ts'
import { safeText } from '../terminal/safe-text.ts'
import { countOf, type Findings, formatDifference } from '../verify/difference.ts'
import { createTableVerifier, type VerifiedTable } from '../verify/table-verifier.ts'
import { createVerifier, type Verified } from '../verify/verifier.ts'

const SHOWN_MAX = 20
const LINE_CHARACTERS = 1_000
const help = `Compares the read model with the log: folds the log from its first record and compares, byte for byte, each entry,
their order, parked records, counts and checkpoint of each live generation. Also finds keys that nothing uses, and
partitions without a live generation although the log has records. Verify only reads, and the read model keeps serving:
a partition is compared up to the checkpoint it has when its comparison starts; later records are left out.

  plantctl verify
  plantctl verify --partition 3 --partition 5
  plantctl verify --json
  plantctl verify --table

  --table      compares the table with the log instead: each plant up to the latest row of its partition must be in the
               table as it was created, and nothing else; plants of the read model that are not in the table 10 s later
               are a difference, too; PLANTS_TABLE names the topic
  --partition  only this partition; may be repeated
  --json       one JSON object: "differences" with the first 100,000 differences, "more" with the number of others, and
               "partitions" with generation, "upTo" (the last offset compared), "end" (the log's next offset) and number
               of plants of each; with --table "upTo" (the creation of the latest row), number of rows, and number of
               plants "behind" it

Exit code 3 means that there are differences. "plantctl rebuild" repairs partitions from the log while they serve. An
emptied Redis is filled by a running projector, or by "plantctl rebuild --from-empty".
`

/** plantctl verify */
export const verify: Command = {
  summary: 'compares the read model, or the table, with the log, and lists each difference',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      partition: { type: 'string', multiple: true },
      table: { type: 'boolean' },
      json: { type: 'boolean' },
    })
    const store = await openStore(context)
    const progress = createReadingProgress(context, 'comparing')
    try {
      const partitions = partitionsOf(values.partition, store.partitions) ?? allPartitions(store.partitions)
      if (values.table) return await verifyTable(store, { partitions, json: values.json ?? false, progress }, context)
      const verifier = createVerifier({
        generations: store.readModel.generations,
        partitions: store.partitions,
        time: systemTime,
        readEnds: () => readLogEnds(store),
        onStart: progress.start,
        read: logReader(store, context.signal, progress.onRead),
      })
      const verified = await verifier.verify(partitions)
      await progress.end()
      if (values.json) await printJson(verified, context)
      else await printDifferences(verified.findings, extentOf(verified), remediesOf(verified), context)
      return countOf(verified.findings) === 0 ? EXIT.ok : EXIT.problems
    } finally {
      await progress.end()
      await store.close()
    }
  },
}

async function verifyTable(
  store: Store,
  {
    partitions,
    json,
    progress,
  }: { partitions: readonly Partition[]; json: boolean; progress: ReturnType<typeof createReadingProgress> },
  context: CliContext,
): Promise<ExitCode> {
  const { kafka, table } = store
  if (table === undefined) throw new UsageError('verify --table: no table, set PLANTS_TABLE to on or to its topic')
  const { readModel, log } = store
  const { signal } = context
  const source = { kafka, table, partitions: store.partitions, log, signal, time: systemTime }
  const verifier = createTableVerifier({
    async readCheckpoints() {
      const metas = await Promise.all(allPartitions(store.partitions).map(readModel.meta))
      return metas.map(({ checkpoint }) => checkpoint.offset)
    },
    async readLatest(some) {
      const rows = await readLatestRows(source, some)
      return new Map([...rows].map(([partition, { offset }]) => [partition, offset]))
    },
    readLogEnds: () => readLogEnds(store),
    readTableEnds: () => readLogEnds({ ...store, topic: table }, TABLE),
    readLog: logReader(store, signal, progress.onRead),
    readTable: tableReader(store, table, signal, progress.onRead),
    onStart: progress.start,
  })
  const verified = await verifier.verify(partitions)
  await progress.end()
  if (json) await printJson(verified, context)
  else await printDifferences(verified.findings, extentOfTable(verified), [`${REMEDY_OF_TABLE} ${table}.2`], context)
  return countOf(verified.findings) === 0 ? EXIT.ok : EXIT.problems
}

async function printJson(
  { partitions, findings }: Verified | VerifiedTable,
  { printResult }: CliContext,
): Promise<void> {
  await printResult(`${JSON.stringify({ differences: findings.listed, more: findings.more, partitions })}\n`)
}

async function printDifferences(
  findings: Findings,
  extent: string,
  remedies: readonly string[],
  { printResult, printError }: CliContext,
): Promise<void> {
  const count = countOf(findings)
  if (count === 0) {
    await printResult(`no difference: ${extent}\n`)
    return
  }
  const shown = findings.listed.slice(0, SHOWN_MAX)
  await printResult(shown.map((difference) => `${safeText(formatDifference(difference), LINE_CHARACTERS)}\n`).join(''))
  if (count > shown.length) await printResult(`… and ${formatNumber(count - shown.length)} more; --json lists them\n`)
  printError(`${formatCount(count, 'difference')}; compared ${extent}\n`)
  for (const remedy of remedies) printError(`${remedy}\n`)
}

function remediesOf({ partitions, findings }: Verified): string[] {
  const remedies: string[] = []
  const differing = new Set(findings.listed.flatMap((one) => ('generation' in one ? [one.partition] : [])))
  const isEmpty = findings.listed.some(({ what }) => what === 'noGeneration')
  if (isEmpty)
    remedies.push('A running projector fills empty partitions from the log; plantctl status shows its progress.')
  if (differing.size > 0) {
    const options = partitions
      .filter(({ partition }) => differing.has(partition))
      .map(({ partition }) => ` --partition ${partition}`)
    const which = options.length === partitions.length ? '' : options.join('')
    remedies.push(`To repair it from the log: plantctl rebuild${isEmpty ? ' --from-empty' : ''}${which}`)
  }
  if (findings.listed.some(({ what }) => what === 'strangeKey'))
    remedies.push('Keys that belong to nothing: find out what wrote them, then delete them.')
  return remedies
}

const REMEDY_OF_TABLE = 'To write it anew, into another topic: plantctl table rebuild --into'

function extentOfTable({ partitions }: VerifiedTable): string {
  const rows = partitions.reduce((sum, one) => sum + one.rows, 0)
  const behind = partitions.reduce((sum, one) => sum + one.behind, 0)
  const lag = behind === 0 ? '' : `; ${formatCount(behind, 'plant')} of the log not in the table yet`
  return `${formatCount(rows, 'plant')} in ${formatCount(partitions.length, 'partition')} of the table${lag}`
}

function extentOf({ partitions }: Verified): string {
  const plants = partitions.reduce((sum, one) => sum + one.plants, 0)
  const behind = partitions.reduce((sum, { upTo, end }) => sum + Math.max(0, end - 1 - upTo), 0)
  const lag = behind === 0 ? '' : `; left out ${formatCount(behind, 'record')} after the checkpoints`
  return `${formatCount(plants, 'plant')} in ${formatCount(partitions.length, 'partition')}${lag}`
}
