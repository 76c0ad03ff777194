import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../local/processes/failure.mjs'
import { numberOf } from '../../tests/support/number-option.ts'
import { runCommand, withStores } from '../command.ts'
import { startAppProcess, TOKEN } from '../contenders/app-process.ts'
import { knownOptions } from '../known-options.ts'
import { LOAD, type LoadOrder, type MeasuredLoad } from '../load/measured-load.ts'
import { runClosedLoop } from '../load/run-load.ts'
import { openPlantStore } from '../plant-store.ts'
import { digits } from '../report/figures.ts'
import { markdownTable, plainTable, type Table } from '../report/table.ts'
import { type BenchStores, openProcessStores } from '../stores.ts'
import { type CpuProfile, timeBySubsystem } from './subsystems.ts'

const help = `Measures the CPU of a create in each process, and in one of them by subsystem, from its V8 profile.

  npm run profile                        the api, 10 s under 256 clients at a time
  npm run profile -- --of projector      the projector
  npm run profile -- --of no-store       the api's application without a store: the cost of HTTP alone
  npm run profile -- --connections 1     this many clients at a time
  npm run profile -- --seconds 30        measures for this long, after a third of it as warm-up
  npm run profile -- --keep api.cpuprofile   keeps the profile, for the developer tools of a browser
  npm run profile -- --markdown          as Markdown

Profiling itself costs a few per cent, so the µs are slightly higher than those of npm run bench.
`
const PROFILED = ['api', 'projector', 'no-store'] as const
type Profiled = (typeof PROFILED)[number]
type Options = {
  of: Profiled
  connections: number
  seconds: number
  keep?: string | undefined
  markdown: boolean
}
type Target = { url: string; processes: ReadonlyMap<string, number>; stop(): Promise<void> }

const MAX_CONNECTIONS = 4_000
const MAX_SECONDS = 300
/** Subsystems with a smaller share are left out. */
const SHOWN_FROM_SHARE = 0.003

await runCommand({
  help,
  readOptions,
  run: (options) => withStores(openProcessStores(), (stores) => profile(options, stores)),
})

async function profile(options: Options, stores: BenchStores): Promise<void> {
  const folder = mkdtempSync(join(stores.folder, 'profile-'))
  const target = await start(options.of, stores, `--cpu-prof --cpu-prof-dir=${folder}`)
  const load = await loadAndStop(target, options)
  const [file] = readdirSync(folder)
  if (file === undefined) throw new Failure(`no profile of ${options.of} was written`)
  const written = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
  const print = options.markdown ? markdownTable : plainTable
  console.log(`\n${print(processTable(load))}\n\n${print(subsystemTable(options.of, written, load))}`)
  if (options.keep !== undefined) copyFileSync(join(folder, file), options.keep)
}

function readOptions(args: readonly string[]): Options | undefined {
  const values = knownOptions(args, {
    of: { type: 'string', default: 'api' },
    connections: { type: 'string', default: '256' },
    seconds: { type: 'string', default: '10' },
    keep: { type: 'string' },
    markdown: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  })
  if (values.help) return undefined
  const of = PROFILED.find((name) => name === values.of)
  if (of === undefined) throw new Failure(`--of ${values.of}: expected ${PROFILED.join(', ')}`)
  return {
    ...{ of, keep: values.keep, markdown: values.markdown },
    connections: numberOf('connections', values.connections, MAX_CONNECTIONS),
    seconds: numberOf('seconds', values.seconds, MAX_SECONDS),
  }
}

/** Starts the processes that create plants. The profiled one gets these options of Node. */
async function start(profiled: Profiled, stores: BenchStores, nodeOptions: string): Promise<Target> {
  const profiling = { NODE_OPTIONS: nodeOptions }
  if (profiled === 'no-store') {
    const app = await startAppProcess('no-store', {}, profiling)
    return { url: app.url, processes: new Map([['no-store', app.pid]]), stop: app.stop }
  }
  const store = await openPlantStore(stores)
  const [api, projector] = await Promise.all([
    store.startApi(profiled === 'api' ? profiling : {}),
    store.startProjector(profiled === 'projector' ? profiling : {}),
  ])
  return {
    url: api.url,
    processes: new Map([['api', api.pid], ['projector', projector.pid], ...stores.processes]),
    async stop() {
      await Promise.all([api.stop(), projector.stop()])
      await store.remove()
    },
  }
}

/** Stops the target after the load, because Node writes the profile when the process ends. */
async function loadAndStop(target: Target, options: Options): Promise<MeasuredLoad> {
  try {
    return await loadOf(target, options)
  } finally {
    await target.stop()
  }
}

async function loadOf({ url, processes }: Target, { connections, seconds }: Options): Promise<MeasuredLoad> {
  const measuredMs = seconds * 1_000
  const order: LoadOrder = { url, token: TOKEN, connections, warmUpMs: measuredMs / 3, measuredMs, processes }
  console.log(`${connections} clients at a time, ${seconds} s …`)
  const load = await runClosedLoop(order)
  console.log(`${digits(load.good / load.seconds)} creates a second`)
  return load
}

function processTable({ cpuSeconds, good }: MeasuredLoad): Table {
  const own = [...cpuSeconds].filter(([name]) => name !== LOAD)
  const sum = own.reduce((total, [, seconds]) => total + seconds, 0)
  const rows = [...own, ['all', sum] as const].map(([name, seconds]) => [name, digits((seconds / good) * 1e6)])
  return { head: ['process', 'µs of CPU a create'], rows, words: new Set([0]) }
}

function subsystemTable(of: Profiled, profile: CpuProfile, load: MeasuredLoad): Table {
  const spent = timeBySubsystem(profile, { from: load.fromMicros, to: load.toMicros })
  const total = [...spent.values()].reduce((sum, micros) => sum + micros, 0)
  // The profile measures time, not CPU. Its shares are applied to the CPU that the kernel counted.
  const cpuMicros = ((load.cpuSeconds.get(of) ?? Number.NaN) / load.good) * 1e6
  const shares = [...spent]
    .map(([name, micros]) => ({ name, share: micros / total }))
    .filter(({ share }) => share >= SHOWN_FROM_SHARE)
    .toSorted((a, b) => b.share - a.share)
  return {
    head: [`${of}, by subsystem`, 'share', 'µs of CPU a create'],
    rows: shares.map(({ name, share }) => [name, `${digits(100 * share)} %`, digits(share * cpuMicros)]),
    words: new Set([0]),
  }
}
