import { runCommand, withStores } from './command.ts'
import { help, readOptions } from './options.ts'
import { plainReport } from './report/report.ts'
import { writeReport } from './report/write.ts'
import { ROWS } from './side-by-side/rows.ts'
import { runSideBySide } from './side-by-side/run.ts'
import { openProcessStores } from './stores.ts'

const rows = Object.keys(ROWS)

await runCommand({
  help: help(rows),
  readOptions: (args) => readOptions(args, rows),
  async run(options) {
    console.log('Kafka and Redis run as processes of the benchmark, so that their CPU can be read.')
    await withStores(openProcessStores(), async (stores) => {
      const results = await runSideBySide(options, stores, console.log)
      console.log(`\n${plainReport(results)}`)
      if (options.write) console.log(`\nwritten: ${writeReport(results).join(', ')}`)
    })
  },
})
