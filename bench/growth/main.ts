import { mkdirSync, writeFileSync } from 'node:fs'
import { machine, versions } from '../environment.ts'
import { orderOf } from '../side-by-side/order.ts'
import { type BenchStores, openProcessStores } from '../stores.ts'
import { growthChart } from './chart.ts'
import { type GrownStore, openGrownStore, type Rebuilt, type Visit } from './grown-store.ts'
import { help, type Options, readOptions } from './options.ts'
import { markdownReport, plainReport } from './report.ts'
import { cpuOf, type Results } from './results.ts'

const FOLDER = new URL('../../docs/bench/', import.meta.url)

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message)
  return 1
})

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (options === undefined) {
    process.stdout.write(help)
    return 0
  }
  const stores = await openProcessStores()
  try {
    const results = await measure(options, stores, console.log)
    console.log(`\n${plainReport(results)}`)
    if (options.write) write(results)
  } finally {
    await stores.end()
  }
  return 0
}

async function measure(
  { sizes, rounds, connections, warmUpMs, measuredMs }: Options,
  stores: BenchStores,
  say: (line: string) => void,
): Promise<Results> {
  say(`stores of ${sizes.map((size) => size.toLocaleString('en')).join(', ')} plants are made`)
  const grown: GrownStore[] = []
  for (const size of sizes) grown.push(await openGrownStore(size, stores))
  const visits = new Map<number, Visit[]>(sizes.map((size) => [size, []]))
  // The first round warms up what lives on through all of them, the broker above all, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const store of orderOf(grown, round)) {
      const visit = await store.visit({ connections, warmUpMs, measuredMs })
      if (round > 0) visits.get(store.size)?.push(visit)
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}, ${inWords(store.size, visit)}`)
    }
  }
  const rebuilt = new Map<number, Rebuilt>()
  for (const store of grown) {
    rebuilt.set(store.size, await store.rebuild())
    say(`  ${store.size.toLocaleString('en')} plants: rebuilt in ${rebuilt.get(store.size)?.seconds} s`)
    await store.close()
  }
  return {
    measuredAt: new Date().toISOString().slice(0, 10),
    ...{ machine: machine(), versions: await versions(stores.redisUrl) },
    effort: { rounds, seconds: measuredMs / 1_000, connections },
    sizes: grown.map(({ size, filled }) => ({
      ...{ plants: size, filled, visits: visits.get(size) ?? [] },
      rebuilt: rebuilt.get(size) as Rebuilt,
    })),
  }
}

function inWords(size: number, { creates, reads }: Visit): string {
  const [create, read] = [creates, reads].map((cost) => `${Math.round(cpuOf(cost))} µs`)
  return `${size.toLocaleString('en')} plants: a create ${create}, a read ${read} of CPU`
}

function write(results: Results): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(new URL('growth.json', FOLDER), `${JSON.stringify(results, undefined, 2)}\n`)
  writeFileSync(new URL('growth.md', FOLDER), markdownReport(results))
  writeFileSync(new URL('growth.svg', FOLDER), growthChart(results.sizes))
  console.log('\nwritten: docs/bench/growth.md, growth.json, growth.svg')
}
