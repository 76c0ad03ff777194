import { abortable, delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import { readStatus, type StatusSource } from '@plant-store/shared/status/read-status.ts'
import { readTable } from '@plant-store/shared/status/read-table.ts'
import { type StatusJson, statusJson } from '@plant-store/shared/status/status-json.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, type ExitCode } from '../command.ts'
import { FLAG, readOptions } from '../options.ts'
import { retryForSeconds, type Store, withUncheckedStore } from '../store/open-store.ts'
import { createPaint } from '../terminal/layout.ts'
import { openScreen } from '../terminal/screen.ts'
import { statusLines } from './format-status.ts'

const WATCH_EVERY_MS = 1_000
const help = `Shows the state of the log and the read model, the processes that read the log, and any problems.

  plantctl status
  plantctl status --watch
  plantctl status --json | jq .totals.lag

  --watch  repeats every second until Ctrl-C; redraws in place on a terminal
  --all    shows every partition; without it, of more than 24 only those with a lag, parked records or a rebuild
  --json   one JSON object with every partition; with --watch one per line

The first line sums up. Lines with "!" are problems, each with its remedy; lines with "-" are notices.
  log end     the next offset of the partition      checkpoint  the last offset that the read model has passed
  lag         offsets between the two               plants      created plants, readable or not
  voids       claims of ids that already existed    parked      records that could not be read (plantctl parked list)
  size        estimated memory in Redis             generation  the live one, and any other

Exit codes: 0 no problems, 1 Kafka or Redis does not respond, 3 problems found (the lines with "!").
`

export const status: Command = {
  summary: 'shows the state of log and read model, and any problems',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { watch: FLAG, all: FLAG, json: FLAG })
    const format = { all: values.all ?? false, json: values.json ?? false }
    return withUncheckedStore(context, async (store) => {
      if (values.watch) return watch(store, context, format)
      const attempt = <T>(request: () => Promise<T>) => retryForSeconds(request, store.topic)
      const found = await find(store, context, attempt)
      await context.printResult(`${linesOf(found, context, format).join('\n')}\n`)
      return found.well ? EXIT.ok : EXIT.problems
    })
  },
}

type Format = { all: boolean; json: boolean }

/** Rejects at an interruption, which would look like a problem of the store. */
async function find(
  store: Store,
  context: CliContext,
  attempt?: Parameters<typeof readStatus>[1],
): Promise<StatusJson> {
  return statusJson(await abortable(readStatus(sourceOf(store, context), attempt), context.signal))
}

function sourceOf(store: Store, { signal }: CliContext): StatusSource {
  const { table, readModel } = store
  if (table === undefined) return store
  return { ...store, readTable: () => readTable({ ...store, table, signal }, readModel) }
}

function linesOf(found: StatusJson, { colours, columns }: CliContext, { all, json }: Format): string[] {
  return json ? [JSON.stringify(found)] : statusLines(found, { paint: createPaint(colours), columns, all })
}

async function watch(store: Store, context: CliContext, format: Format): Promise<ExitCode> {
  const { print, stdoutIsTerminal, signal } = context
  const screen = openScreen(context)
  try {
    while (!signal.aborted) {
      const lines = linesOf(await find(store, context), context, format)
      const time = new Date().toISOString()
      if (format.json) await print(`${lines.join('\n')}\n`)
      else if (stdoutIsTerminal)
        await screen.draw([`${time}  every second, Ctrl-C to exit`, '', ...lines], context.rows)
      else await print(`${time}\n${lines.join('\n')}\n\n`)
      await delay(systemTime, WATCH_EVERY_MS, signal)
    }
  } finally {
    await screen.close()
  }
  return EXIT.interrupted
}
