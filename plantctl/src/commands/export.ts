import { type Command, EXIT } from '../command.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { readPlantsOfReadModel } from '../export/plants-of-read-model.ts'
import { writeExport } from '../export/write-export.ts'
import { readOptions } from '../options.ts'
import { openStore } from '../store/open-store.ts'
import { logReader, readLogEnds } from '../store/read-log.ts'
import { createReadingProgress } from '../terminal/progress.ts'

const help = `Writes all plants as JSON Lines, from a replay of the log up to its current end.

  plantctl export > plants.jsonl
  plantctl export --output plants.jsonl
  plantctl export --from-redis | tail -n 1

  --output      writes to this file, which appears under its name when it is complete; until then a previous file stays
  --from-redis  exports what the read model serves instead of the log

One line per plant: {"id":"7","name":"…","tag":"…","position":"3-120","event":"<uuid>"}, with "unreadable":true instead
of the plant's fields when this release cannot read the event. The id is a string, as in the event, because most JSON
parsers lose digits of large numbers. Lines are ordered by partition, then by offset.

The last line is {"export":{"topic","partitions","plants","unreadable","positions","sha256"}}; an export without it is
incomplete. "sha256" is the digest of all lines before it ("head -n -1 | sha256sum"). Exports up to the same positions
are identical, from the log as from Redis. "plantctl as-of <positions> --rest empty" writes the same export again.
`

/** plantctl export */
export const exportPlants: Command = {
  summary: 'writes all plants as JSON Lines, from a replay of the log',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      output: { type: 'string' },
      'from-redis': { type: 'boolean' },
    })
    const store = await openStore(context)
    const progress = createReadingProgress(context, 'exporting')
    try {
      await writeExport(store, context, values.output, async ({ add }) => {
        if (values['from-redis']) return readPlantsOfReadModel(store.readModel, store.partitions, add)
        const ends = await readLogEnds(store)
        const read = logReader(store, context.signal, progress.onRead)
        await readPlantsOfLog({ read, ends, onPlants: add, onStart: progress.start })
        await progress.end()
        return ends
      })
      return EXIT.ok
    } finally {
      await progress.end()
      await store.close()
    }
  },
}
