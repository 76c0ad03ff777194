import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../local/processes/failure.mjs'
import { startApp } from '../contenders/contenders.ts'
import { type Load, type MeasuredLoad, RATE, runLoad } from '../load/load.ts'
import { CPU, LOAD } from '../measure/cpu.ts'
import { loadOf } from '../options.ts'
import { openPlantStore } from '../plant-store.ts'
import { type CpuProfile, timeBySubsystem } from '../profile/subsystems.ts'
import { digits, type Table, tableOf } from '../report/table.ts'
import type { Scenario } from '../scenario.ts'
import type { BenchStores } from '../stores.ts'

const API = 'api'
const NO_STORE = 'no-store'
const PROFILED = [API, 'projector', NO_STORE]
/** Subsystems with a smaller share are left out. */
const SHOWN_FROM_SHARE = 0.003

export const profile: Scenario = {
  summary: 'CPU of a create by process, and in one of them by subsystem',
  help: `reads the V8 profile of one process under load: the api, the projector, or the api's application without a store,
which is the cost of HTTP alone. Profiling costs a few per cent.`,
  declared: { numbers: { seconds: 10, connections: 256, 'warm-up': 10 }, quick: { seconds: 4 }, texts: ['of', 'keep'] },
  async run(options, stores) {
    const { of = API, keep } = options
    if (!PROFILED.includes(of)) throw new Failure(`--of ${of}: expected ${PROFILED.join(', ')}`)
    const folder = mkdtempSync(join(stores.folder, 'profile-'))
    const profiling = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` }
    // Node writes the profile when the process ends.
    const load = await loadAndStop(of, stores, profiling, loadOf(options))
    const [file] = readdirSync(folder)
    if (file === undefined) throw new Failure(`no profile of ${of} was written`)
    const written = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
    if (keep !== undefined) copyFileSync(join(folder, file), keep)
    const measured = { creates: [load.figures] }
    const figures = [RATE, CPU, ...PROFILED, 'broker', 'Redis', LOAD]
    return {
      title: `Profile of ${of}`,
      notes: [],
      tables: [tableOf('CPU in µs', measured, figures), subsystemTable(of, written, load)],
      measured: { profile: measured },
    }
  },
}

async function loadAndStop(of: string, stores: BenchStores, profiling: Record<string, string>, load: Load) {
  if (of === NO_STORE) {
    const { reply, pid, stop } = await startApp({ store: NO_STORE, settings: {} }, { ...process.env, ...profiling })
    const measured = await runLoad({ ...load, urls: [reply.url], processes: new Map([[NO_STORE, [pid]]]) })
    await stop()
    return measured
  }
  await using store = await openPlantStore(stores)
  const api = await store.startApi(of === API ? profiling : {})
  const projector = await store.startProjector(of === API ? {} : profiling)
  const processes = new Map([['api', [api.pid]], ['projector', [projector.pid]], ...stores.processes])
  return await runLoad({ ...load, urls: [api.url], processes })
}

function subsystemTable(of: string, profile: CpuProfile, load: MeasuredLoad): Table {
  const spent = timeBySubsystem(profile, load.interval)
  const total = [...spent.values()].reduce((sum, micros) => sum + micros, 0)
  // The profile measures time, not CPU. Its shares are applied to the CPU that the kernel counted.
  const cpuMicros = load.figures[of] ?? Number.NaN
  const shares = [...spent]
    .map(([name, micros]) => ({ name, share: micros / total }))
    .filter(({ share }) => share >= SHOWN_FROM_SHARE)
    .toSorted((a, b) => b.share - a.share)
  const rows = shares.map(({ name, share }) => [name, digits(100 * share), digits(share * cpuMicros)])
  return { head: [`${of}, by subsystem`, '%', 'µs of CPU a create'], rows }
}
