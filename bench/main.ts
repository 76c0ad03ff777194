import { describe } from '../local/processes/failure.mjs'
import { help, readOptions } from './options.ts'
import { plainReport } from './report/report.ts'
import { writeReport } from './report/write.ts'
import { ROWS } from './side-by-side/rows.ts'
import { runSideBySide } from './side-by-side/run.ts'
import { openProcessStores } from './stores.ts'

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(describe(error))
  return 1
})

async function main(args: readonly string[]): Promise<number> {
  const rows = Object.keys(ROWS)
  const options = readOptions(args, rows)
  if (options === undefined) {
    process.stdout.write(help(rows))
    return 0
  }
  console.log('Kafka and Redis run as processes of the benchmark, so that their CPU can be read.')
  const stores = await openProcessStores()
  try {
    const results = await runSideBySide(options, stores, console.log)
    console.log(`\n${plainReport(results)}`)
    if (options.write) console.log(`\nwritten: ${writeReport(results).join(', ')}`)
  } finally {
    await stores.end()
  }
  return 0
}
