import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { TABLE } from '@plant-store/shared/event-log/topic.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, LIST, partitionsOf, readOptions } from '../options.ts'
import { type Store, withStore } from '../store/open-store.ts'
import { logReader, readCheckpoints, readLogEnds, tableReader } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'
import { type Findings, formatDifference } from '../verify/difference.ts'
import { verifyTable } from '../verify/table-verifier.ts'
import { type Verified, verifyReadModel } from '../verify/verifier.ts'

const SHOWN_MAX = 20
const help = `Compares each live generation of the read model with a fold of the log up to its checkpoint, byte for byte: entries,
order, parked records, counts. Also finds keys that nothing uses, and partitions without a live generation although the
log has records. It only reads.

  plantctl verify
  plantctl verify --partition 3 --partition 5
  plantctl verify --table

  --table      compares the table, the topic that PLANTS_TABLE names, instead
  --partition  only this partition; may be repeated
  --json       one JSON object: "differences" with the first 100,000 differences, "more" with the number of others, and
               "partitions" with generation, "upTo" (the last offset compared), "end" (the log's next offset) and number
               of plants of each; with --table "upTo" (the creation of the latest row), number of rows, and number of
               plants "behind" it

Exit code 3 means that there are differences. "plantctl rebuild" repairs them.
`

/** The findings of a verification; `extent` says what was compared. */
type Result = { partitions: readonly object[]; findings: Findings; extent: string; remedies: string[] }

export const verify: Command = {
  summary: 'compares the read model, or the table, with the log, and lists each difference',
  help,
  async run(args, context) {
    const { printResult } = context
    const { values } = readOptions(args, { partition: LIST, table: FLAG, json: FLAG })
    const { partitions, findings, extent, remedies } = await withStore(context, (store) =>
      (values.table ? ofTable : ofReadModel)(store, partitionsOf(values.partition, store.partitions), context),
    )
    const { listed, more } = findings
    const count = listed.length + more
    const shown = listed.slice(0, SHOWN_MAX).map((one) => `${formatDifference(one)}\n`)
    if (values.json) await printResult(`${JSON.stringify({ differences: listed, more, partitions })}\n`)
    else if (count === 0) await printResult(`no difference: ${extent}\n`)
    else {
      await printResult(shown.join(''))
      if (count > shown.length)
        await printResult(`… and ${formatNumber(count - shown.length)} more; --json lists them\n`)
      const notes = [`compared ${extent}`, ...remedies]
      context.printError(`${formatCount(count, 'difference')}; ${notes.join('\n')}\n`)
    }
    return count === 0 ? EXIT.ok : EXIT.problems
  },
}

async function ofReadModel(store: Store, some: readonly Partition[], context: CliContext): Promise<Result> {
  const { partitions, findings } = await withProgress(context, 'comparing', ({ onStart, onRead }) =>
    verifyReadModel(some, {
      generations: store.readModel.generations,
      time: systemTime,
      readEnds: () => readLogEnds(store),
      onStart,
      read: logReader(store, context.signal, onRead),
    }),
  )
  const plants = partitions.reduce((sum, one) => sum + one.plants, 0)
  const behind = partitions.reduce((sum, { upTo, end }) => sum + Math.max(0, end - 1 - upTo), 0)
  const lag = behind === 0 ? '' : `; left out ${formatCount(behind, 'record')} after the checkpoints`
  const extent = `${formatCount(plants, 'plant')} in ${formatCount(partitions.length, 'partition')}${lag}`
  return { partitions, findings, extent, remedies: remediesOf({ partitions, findings }, store.partitions) }
}

async function ofTable(store: Store, some: readonly Partition[], context: CliContext): Promise<Result> {
  const { table } = store
  if (table === undefined) throw new UsageError('verify --table: no table, set PLANTS_TABLE to on or to its topic')
  const { signal } = context
  const { partitions, findings } = await withProgress(context, 'comparing', ({ onStart, onRead }) =>
    verifyTable(some, {
      readCheckpoints: () => readCheckpoints(store),
      readLatest: (wanted) => readLatestRows({ ...store, table, signal }, wanted),
      readLogEnds: () => readLogEnds(store),
      readTableEnds: () => readLogEnds({ ...store, topic: table }, TABLE),
      readLog: logReader(store, signal, onRead),
      readTable: tableReader(store, table, signal, onRead),
      onStart,
    }),
  )
  const rows = partitions.reduce((sum, one) => sum + one.rows, 0)
  const behind = partitions.reduce((sum, one) => sum + one.behind, 0)
  const lag = behind === 0 ? '' : `; ${formatCount(behind, 'plant')} of the log not in the table yet`
  const extent = `${formatCount(rows, 'plant')} in ${formatCount(partitions.length, 'partition')} of the table${lag}`
  const remedies = [`To write it anew, into another topic: plantctl table rebuild --into ${table}.2`]
  return { partitions, findings, extent, remedies }
}

export function remediesOf({ partitions, findings }: Verified, count: number): string[] {
  const kinds = [...findings.kinds.values()]
  const differing = partitions.filter(({ partition }) => kinds.some((one) => one.partition === partition))
  const options = differing.map(({ partition }) => ` --partition ${partition}`)
  const which = differing.length === count ? '' : options.join('')
  const isEmpty = kinds.some(({ what }) => what === 'noGeneration')
  const hasWrongType = kinds.some(({ what }) => what === 'wrongType')
  // A rebuild takes a partition without a checkpoint for an empty one.
  const isDangling = kinds.some(({ what, key }) => what === 'pointerDangling' && key === 'live')
  const fromEmpty = isEmpty || isDangling || hasWrongType ? ' --from-empty' : ''
  return [
    hasWrongType && 'Delete the keys of the wrong type first: no rebuild can read them.',
    isEmpty && 'A running projector fills empty partitions from the log; plantctl status shows its progress.',
    differing.length > 0 && `To repair it from the log: plantctl rebuild${fromEmpty}${which}`,
    kinds.some(({ what }) => what === 'strangeKey') &&
      'Keys that belong to nothing: find out what wrote them, then delete them.',
  ].filter((remedy) => remedy !== false)
}
