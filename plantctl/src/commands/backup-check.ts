import { formatCount } from '@plant-store/shared/runtime/format.ts'
import { checkBackup } from '../backup/check-backup.ts'
import { withFolder } from '../backup/folder-error.ts'
import { DamagedBackup, recordsIn } from '../backup/manifest.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, readOptions } from '../options.ts'
import { withProgress } from '../terminal/progress.ts'

const help = `Checks a backup, without Kafka: the checksum of each file, the offsets, and that the records fold into plants.

  plantctl backup check /backups/plants

  --json  one JSON object: "damage" (a text for each problem), and without damage "takenAt", number of "records", and
          "export" as the last line of "plantctl export" has it: number of plants, positions, SHA-256

Exit code 3 means that the backup is damaged. The SHA-256 is that of "plantctl export" at the same positions.
`

export const backupCheck: Command = {
  summary: 'checks a backup: checksums, offsets and plants',
  help,
  async run(args, context) {
    const { values, positionals } = readOptions(args, { json: FLAG }, true)
    const [folder, ...others] = positionals
    if (folder === undefined || others.length > 0) throw new UsageError('expected one FOLDER')
    const check = () => withProgress(context, 'checking the backup', (progress) => checkBackup(folder, progress))
    try {
      const { manifest, summary } = await withFolder(folder, check)
      const { takenAt } = manifest
      const records = recordsIn(manifest)
      const size = `${formatCount(records, 'record')}, ${formatCount(summary.plants, 'plant')}`
      await context.printResult(
        values.json
          ? `${JSON.stringify({ damage: [], takenAt, records, export: summary })}\n`
          : `no damage: ${size}, taken at ${takenAt}; SHA-256 ${summary.sha256}\n`,
      )
      return EXIT.ok
    } catch (error) {
      if (!(error instanceof DamagedBackup)) throw error
      const { damage } = error
      await context.printResult(values.json ? `${JSON.stringify({ damage })}\n` : `${damage.join('\n')}\n`)
      return EXIT.problems
    }
  },
}
