import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import { type CliContext, type Command, EXIT, type ExitCode } from '../command.ts'
import { readOptions } from '../options.ts'
import { connectStore, type Store, withinSeconds } from '../store/open-store.ts'
import { createPaint } from '../terminal/paint.ts'
import { openScreen } from '../terminal/screen.ts'
import { statusLines } from './status/format-status.ts'
import { judge } from './status/judge.ts'
import { readStatus, type StoreStatus } from './status/read-status.ts'
import { statusJson } from './status/status-json.ts'

const WATCH_EVERY_MS = 1_000
const help = `Shows where log and read model stand, who reads the log, and whether all is well.

  plantctl status
  plantctl status --watch
  plantctl status --json | jq .totals.lag
  plantctl status --json > /dev/null || echo "look at it"

  --watch  shows it again every second, until Ctrl-C; on a terminal in place, otherwise one after another
  --all    shows every partition, also of a topic with more than 24; otherwise only those that are behind, hold
           parked records, or are being rebuilt
  --json   one JSON object, with every partition; with --watch one a line

The first line is the verdict. Lines with "!" say what is wrong and what to do, lines with "-" what is worth knowing.
  log end     the next offset of the partition      checkpoint  the last offset that the read model has passed
  lag         offsets between the two               plants      created and readable, or kept unreadable
  voids       claims of ids that were taken         parked      records that could not be read (plantctl parked list)
  size        memory in Redis, estimated            generation  the one that serves, and any beside it
Offsets count more than events: Kafka gives some to control records.

Exit codes: 0 all well, 1 Kafka or Redis does not answer, 3 something is wrong (the lines with "!").
`

/** plantctl status */
export const status: Command = {
  summary: 'shows where log and read model stand, and whether all is well',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      watch: { type: 'boolean' },
      all: { type: 'boolean' },
      json: { type: 'boolean' },
    })
    const { all = false, json = false } = values
    const store = await connectStore(context)
    try {
      if (values.watch) return await watch(store, context, { all, json })
      const found = await withinSeconds(() => readStatus(store))
      await context.out(`${shown(found, context, { all, json }).join('\n')}\n`)
      return judge(found).problems.length === 0 ? EXIT.done : EXIT.notAsItShouldBe
    } finally {
      await store.close()
    }
  },
}

type Choice = { all: boolean; json: boolean }

function shown(found: StoreStatus, { colours, columns }: CliContext, { all, json }: Choice): string[] {
  if (json) return [JSON.stringify(statusJson(found))]
  return statusLines(found, { paint: createPaint(colours), columns, all })
}

async function watch(store: Store, context: CliContext, choice: Choice): Promise<ExitCode> {
  const { out, tell, isTerminal, signal } = context
  const screen = openScreen(context)
  try {
    while (!signal.aborted) {
      const found = await readStatus(store).catch((error: Error) => error)
      const time = new Date().toISOString()
      if (found instanceof Error) tell(isTerminal ? '' : `! ${time} ${found.message}\n`)
      const lines = found instanceof Error ? [`! ${found.message}`] : shown(found, context, choice)
      if (isTerminal && !choice.json)
        await screen.draw([`${time}  every second, Ctrl-C ends it`, '', ...lines], context.rows)
      else if (!(found instanceof Error))
        await out(choice.json ? `${lines.join('\n')}\n` : `${time}\n${lines.join('\n')}\n\n`)
      await delay(systemTime, WATCH_EVERY_MS, signal)
    }
  } finally {
    await screen.close()
  }
  return EXIT.brokenOff
}
