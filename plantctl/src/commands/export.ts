import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { type Command, EXIT } from '../command.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { readPlantsOfReadModel } from '../export/plants-of-read-model.ts'
import { writeExport } from '../export/write-export.ts'
import { readOptions } from '../options.ts'
import { openStore } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { createReadingProgress } from '../terminal/reading-progress.ts'

const help = `Writes all plants as JSON Lines, by a replay of the log up to where it ends now.

  plantctl export > plants.jsonl
  plantctl export --output plants.jsonl
  plantctl export --from-redis | tail -n 1

  --output      a file, which gets this name when it is whole; what was there before stays until then
  --from-redis  what the read model serves, in place of what the log says

A line for each plant: {"id":"7","name":"…","tag":"…","position":"3-120","event":"<uuid>"}, with "unreadable":true in place of
name and tag where this release can't read the event. The id is text, as in the event: most readers of JSON
lose digits of large numbers. The lines are in the order of the partitions, and in each of the log.

The last line is {"export":{"topic","partitions","plants","unreadable","positions","sha256"}}; without it the export is not
whole. "sha256" is that of all lines before it ("head -n -1 | sha256sum"): the same up to the same positions, whenever,
from wherever. "plantctl as-of <positions> --rest empty" makes the same again.
`

/** plantctl export */
export const exportPlants: Command = {
  summary: 'writes all plants as JSON Lines, by a replay of the log',
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
        const { ends } = await checkTopic(store.kafka, store)
        const read = logReader(store, context.signal, progress.onRead)
        await readPlantsOfLog({ read, ends, onPlants: add, onBegin: progress.begin })
        await progress.end()
        return ends
      })
      return EXIT.done
    } finally {
      await progress.end()
      await store.close()
    }
  },
}
