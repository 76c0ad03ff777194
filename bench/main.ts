import { report, runCommand } from './command.ts'
import { help, readOptions } from './options.ts'
import { plainReport } from './report/report.ts'
import { writeReport } from './report/write.ts'
import { ROWS } from './side-by-side/rows.ts'
import { runSideBySide } from './side-by-side/run.ts'

const rows = Object.keys(ROWS)

await runCommand({
  help: help(rows),
  readOptions: (args) => readOptions(args, rows),
  async run(options) {
    console.log('Kafka and Redis run as processes of the benchmark, so that their CPU can be read.')
    await report(options.write, {
      measure: (stores) => runSideBySide(options, stores, console.log),
      plainReport,
      writeReport,
    })
  },
})
