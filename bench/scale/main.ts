import { report, runCommand } from '../command.ts'
import { circumstances } from '../environment.ts'
import { writeFiles } from '../report/write-files.ts'
import { orderOf } from '../side-by-side/order.ts'
import { type BenchStores, BROKER_WARM_UP_MS } from '../stores.ts'
import { type BulkTail, measureBulkTail } from './bulk-tail.ts'
import { type Deployment, measureDeployment, type Run } from './deployment.ts'
import { help, type Options, readOptions } from './options.ts'
import { markdownReport, nameOf, plainReport, type Results } from './report.ts'

/** All others are compared with the first. */
const DEPLOYMENTS: readonly [Deployment, ...Deployment[]] = [
  { apis: 1, quietApis: 0, projectors: 1 },
  { apis: 2, quietApis: 0, projectors: 1 },
  { apis: 4, quietApis: 0, projectors: 1 },
  { apis: 1, quietApis: 0, projectors: 2 },
  { apis: 1, quietApis: 0, projectors: 4 },
  { apis: 4, quietApis: 0, projectors: 4 },
  { apis: 1, quietApis: 1, projectors: 1 },
  { apis: 1, quietApis: 3, projectors: 1 },
]

await runCommand({
  help,
  readOptions,
  run: (options) =>
    report(options.write, {
      measure: (stores) => measure(options, stores, console.log),
      plainReport,
      writeReport: (results) => writeFiles(filesOf(results)),
    }),
})

async function measure(
  { rounds, connections, warmUpMs, measuredMs }: Options,
  stores: BenchStores,
  say: (line: string) => void,
): Promise<Results> {
  const runs = new Map<Deployment, Run[]>(DEPLOYMENTS.map((deployment) => [deployment, []]))
  const bulkTail: BulkTail[] = []
  const load = { connections, warmUpMs, measuredMs }
  say('  the broker warms up')
  await measureDeployment(DEPLOYMENTS[0], stores, { ...load, warmUpMs: BROKER_WARM_UP_MS })
  for (let round = 1; round <= rounds; round++) {
    for (const deployment of orderOf(DEPLOYMENTS, round)) {
      const run = await measureDeployment(deployment, stores, load)
      runs.get(deployment)?.push(run)
      say(`  round ${round}, ${nameOf(deployment)}: ${Math.round(run.perSecond)} creates a second`)
    }
    bulkTail.push(await measureBulkTail(stores))
    say(`  round ${round}, a quiet api reads ${Math.round(bulkTail.at(-1)?.perSecond ?? 0)} events a second`)
  }
  return {
    ...(await circumstances(stores.redisUrl, { peers: false })),
    effort: { rounds, seconds: measuredMs / 1_000, connections },
    deployments: DEPLOYMENTS.map((deployment) => ({ ...deployment, runs: runs.get(deployment) ?? [] })),
    bulkTail,
  }
}

function filesOf(results: Results): Map<string, string> {
  return new Map([
    ['scale.md', markdownReport(results)],
    ['scale.json', `${JSON.stringify(results, undefined, 2)}\n`],
  ])
}
