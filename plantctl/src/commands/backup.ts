import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { delay, systemTime } from '@plant-store/shared/runtime/time.ts'
import { makeFolder, withFolder } from '../backup/folder-error.ts'
import { DamagedBackup, recordsIn } from '../backup/manifest.ts'
import { writeBackup } from '../backup/write-backup.ts'
import { type CliContext, OutputError } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { durationOf, FLAG, readOptions, TEXT } from '../options.ts'
import { type LogOfStore, withLog } from '../store/open-store.ts'
import { withProgress } from '../terminal/progress.ts'

const EVERY_MS = 60_000
/** Timers of Node are limited. */
const LONGEST_DAYS = 24
const help = `Backs the log up into a folder: all records, byte by byte with their offsets, the offsets of the consumer groups, and
the topic's settings. Only Kafka is needed. The store runs on.

  plantctl backup --to /backups/plants
  plantctl backup --to /backups/plants --follow --every 5m

  --to      the folder, which is created. With an earlier backup of this log in it, only what is new is added; a backup
            of another log is refused
  --follow  repeats until it is interrupted
  --every   with --follow, the time from one backup to the next: 30s, 15m, 2h or 7d; 1m unless given
  --json    one JSON object for each backup: "takenAt", number of "records" and of those "added", "ends" (the next
            offset of each partition), number of "groups"

A backup is complete when its manifest.json is replaced, last: an interrupted one leaves the earlier one as it was. What
was acknowledged before "takenAt" is in it. Each folder has one backup; copy it to another place. Restore it with
"plantctl restore".
`

export const backup: Command = {
  summary: 'saves the log into a folder, and later what is new',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { to: TEXT, follow: FLAG, every: TEXT, json: FLAG })
    const { to, follow, every, json = false } = values
    if (!to) throw new UsageError('expected --to FOLDER')
    if (every !== undefined && !follow) throw new UsageError('--every needs --follow')
    const everyMs = every === undefined ? EVERY_MS : durationOf(every)
    if (everyMs === undefined || everyMs > LONGEST_DAYS * 86_400_000)
      throw new UsageError(`--every ${every}: expected 30s, 15m, 2h or 7d, at most ${LONGEST_DAYS}d`)
    await withFolder(to, () => makeFolder(to))
    await withLog(context, async (log) => {
      await backUp(log, to, json, context)
      while (follow) {
        await delay(systemTime, everyMs, context.signal)
        if (context.signal.aborted) return
        await backUp(log, to, json, context).catch((error: unknown) => {
          const isLast = [PreconditionError, DamagedBackup, OutputError].some((kind) => error instanceof kind)
          if (isLast || context.signal.aborted) throw error
          context.printError(`! No backup this time: ${reasonOf(error, log)}\n`)
        })
      }
    })
    return EXIT.ok
  },
}

async function backUp(log: LogOfStore, folder: string, json: boolean, context: CliContext): Promise<void> {
  const { signal } = context
  const { manifest, added } = await withProgress(context, 'backing up', (progress) =>
    withFolder(folder, () => writeBackup(log, folder, { ...progress, signal })),
  )
  const { takenAt, partitions, groups } = manifest
  const records = recordsIn(manifest)
  const ends = partitions.map(({ end }) => end)
  const result = { takenAt, records, added, ends, groups: groups.length }
  await context.print(
    json
      ? `${JSON.stringify(result)}\n`
      : `${takenAt}  ${formatCount(records, 'record')}, ${formatNumber(added)} of them new, ` +
          `offsets of ${formatCount(groups.length, 'consumer group')}\n`,
  )
}
