import { describe, Failure } from '../local/processes/failure.mjs'
import { circumstances } from './circumstances.ts'
import { optionsHelp, readOptions } from './options.ts'
import { type Scenario, terminalReport, writeReport } from './scenario.ts'
import { growth } from './scenarios/growth.ts'
import { replay } from './scenarios/replay.ts'
import { scale } from './scenarios/scale.ts'
import { sideBySide } from './scenarios/side-by-side.ts'
import { wire } from './scenarios/wire.ts'
import { openStores } from './stores.ts'

const SIDE_BY_SIDE = 'side-by-side'
const SCENARIOS: Record<string, Scenario> = { [SIDE_BY_SIDE]: sideBySide, replay, growth, scale, wire }

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(describe(error))
  // All processes that were started end when this one exits.
  process.exit(1)
})

async function main(args: readonly string[]): Promise<void> {
  const [name = SIDE_BY_SIDE, ...rest] = args[0]?.startsWith('-') ? [SIDE_BY_SIDE, ...args] : args
  const scenario = SCENARIOS[name]
  if (scenario === undefined)
    throw new Failure(`${name}: expected a scenario: ${Object.keys(SCENARIOS).join(', ')}. --help explains them`)
  const options = readOptions(rest, scenario.declared)
  if (options === undefined) return void process.stdout.write(helpOf(name, scenario))
  if (options.write && scenario.file === undefined) throw new Failure(`--write: ${name} has no report in docs/bench`)
  const stores = await openStores()
  const { notes, ...measured } = await scenario.run(options, stores)
  const report = { ...measured, notes: [await circumstances(stores.redisUrl), ...notes] }
  console.log(`\n${terminalReport(report)}`)
  if (options.write && scenario.file) console.log(`\nwritten: ${writeReport(name, scenario.file, report).join(', ')}`)
  await stores.end()
}

function helpOf(name: string, { help, declared }: Scenario): string {
  const others = Object.entries(SCENARIOS).map(([each, { summary }]) => `  ${each.padEnd(18)} ${summary}\n`)
  return [
    `npm run bench -- [SCENARIO] [OPTIONS]\n\nScenarios; ${SIDE_BY_SIDE} unless another one is named:\n${others.join('')}`,
    `${name}: ${help}\n`,
    `Options of ${name}:\n${optionsHelp(declared)}`,
    'Kafka and Redis are started as processes, so that their CPU can be read. A run fails when a response is unexpected\n' +
      'or an acknowledged plant is missing. Example: npm run bench -- scale --only 2-apis --rounds 3 --seconds 10\n',
  ].join('\n')
}
