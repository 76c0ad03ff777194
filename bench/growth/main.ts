import { report, runCommand } from '../command.ts'
import { circumstances } from '../environment.ts'
import { progress } from '../replay/compare.ts'
import { writeFiles } from '../report/write-files.ts'
import { orderOf } from '../side-by-side/order.ts'
import { type BenchStores, BROKER_WARM_UP_MS } from '../stores.ts'
import { growthChart } from './chart.ts'
import { type GrownStore, type LoadOptions, openGrownStore, type Rebuilt, type Visit } from './grown-store.ts'
import { help, type Options, readOptions } from './options.ts'
import { markdownReport, plainReport } from './report.ts'
import { cpuOf, type Results } from './results.ts'

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
  { sizes, rounds, connections, measuredMs }: Options,
  stores: BenchStores,
  say: (line: string) => void,
): Promise<Results> {
  const grown = await Promise.all(sizes.map((size) => openGrownStore(size, stores)))
  try {
    for (const store of grown) {
      say(`${store.size.toLocaleString('en')} plants: filling the store`)
      await store.fill(progress(store.size, say))
    }
    const visits = await takeTurns(grown, rounds, { connections, measuredMs }, say)
    const rebuilt = await rebuildAll(grown, say)
    return {
      ...(await circumstances(stores.redisUrl, { peers: false })),
      effort: { rounds, seconds: measuredMs / 1_000, connections },
      sizes: grown.map(({ size, filled }, n) => ({
        ...{ plants: size, filled, visits: visits.get(size) ?? [] },
        rebuilt: rebuilt[n] as Rebuilt,
      })),
    }
  } finally {
    await Promise.all(grown.map((store) => store.close()))
  }
}

async function takeTurns(
  grown: readonly GrownStore[],
  rounds: number,
  load: LoadOptions,
  say: (line: string) => void,
): Promise<Map<number, Visit[]>> {
  say('  the broker warms up')
  // On the largest store, which these plants grow the least.
  await grown.at(-1)?.visit(load, BROKER_WARM_UP_MS)
  const visits = new Map<number, Visit[]>(grown.map(({ size }) => [size, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const store of orderOf(grown, round)) {
      const visit = await store.visit(load)
      visits.get(store.size)?.push(visit)
      say(`  round ${round}, ${inWords(store.size, visit)}`)
    }
  }
  return visits
}

async function rebuildAll(grown: readonly GrownStore[], say: (line: string) => void): Promise<Rebuilt[]> {
  const rebuilt: Rebuilt[] = []
  for (const store of grown) {
    const { plants, seconds } = await store.rebuild()
    rebuilt.push({ plants, seconds })
    say(`  ${plants.toLocaleString('en')} plants rebuilt in ${seconds} s`)
  }
  return rebuilt
}

function inWords(size: number, { creates, reads }: Visit): string {
  const [create, read] = [creates, reads].map((cost) => `${Math.round(cpuOf(cost))} µs`)
  return `${size.toLocaleString('en')} plants: a create ${create}, a read ${read} of CPU`
}

function filesOf(results: Results): Map<string, string> {
  return new Map([
    ['growth.md', markdownReport(results)],
    ['growth.json', `${JSON.stringify(results, undefined, 2)}\n`],
    ['growth.svg', growthChart(results.sizes)],
  ])
}
