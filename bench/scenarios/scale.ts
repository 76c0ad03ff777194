import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../../local/places.mjs'
import { Failure } from '../../local/processes/failure.mjs'
import { checkRun } from '../contenders/check.ts'
import { type Load, type LoadOrder, RATE, runLoad } from '../load/load.ts'
import { CPU, cpuBetween, cpuFigures, LOAD, readCpu } from '../measure/cpu.ts'
import type { Figures } from '../measure/spread.ts'
import { loadOf } from '../options.ts'
import { type Deployment, openPlantStore, type PlantStore } from '../plant-store.ts'
import { append } from '../replay/append.ts'
import { ratioOfRows, rowsWhere, tableOf, target, valuesOf } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'
import { type BenchStores, brokerWarmUp } from '../stores.ts'
import { OPEN_LOOP_FIGURES, openLoops } from './open-load.ts'

const ONE_API = '1-api'
const [OPEN_LOOP, TAIL] = ['open-loop', 'tail']
/** The parts of this benchmark. The deployments that create in a closed loop are compared with the first. */
const DEPLOYMENTS: Record<string, Deployment> = {
  [ONE_API]: { apis: 1 },
  '2-apis': { apis: 2 },
  '4-apis': { apis: 4 },
  '1-api-1-idle': { apis: 1, idle: 1 },
  '1-api-3-idle': { apis: 1, idle: 3 },
  '1-api-2-projectors': { apis: 1, projectors: 2 },
  '1-api-4-projectors': { apis: 1, projectors: 4 },
  '4-apis-4-projectors': { apis: 4, projectors: 4 },
  [OPEN_LOOP]: { apis: 2 },
  [TAIL]: { apis: 0, idle: 1 },
}
const AGAINST = ' (against)'
const IDLE = 'idle api'
const OPEN_LOOP_RATES = [1_000, 4_000]
const OPEN_LOOP_ROW = '2 apis'
const TAIL_ROW = 'an idle api'
const APPENDED_PER_SECOND = 10_000
/** As often as an api under load appends. */
const APPEND_EVERY_MS = 5
/** Apis notice within two readings of the checkpoints that others write, too. */
const SETTLE_MS = 3_000

type Part = { part: string; folder: string; suffix: string }

const COSTS = [RATE, CPU, 'api', IDLE, 'projector', 'broker', 'Redis', LOAD, '% of the cores']

/** Targets of these rows against one api. */
const ONE_API_TARGETS = [
  ['2-apis', CPU, { atMost: 1.25 }],
  ['2-apis', RATE, { atLeast: 0.8 }],
  ['4-apis', CPU, { atMost: 1.8 }],
  ['4-apis', RATE, { atLeast: 0.55 }],
  ['1-api-3-idle', CPU, { atMost: 1.05 }],
] as const

export const scale: Scenario = {
  summary: 'several apis and projectors on one machine, also against another checkout',
  file: 'scale',
  help: `creates in a closed loop, with the clients spread over the apis that are not idle; latencies at fixed rates over
2 apis (${OPEN_LOOP}); and an api without requests while ${APPENDED_PER_SECOND} events a second are appended (${TAIL}). Half an hour. On few
cores, more processes do not create more plants a second: compare the CPU of a create. --against measures the services
of another checkout in the same rounds. The services of all parts run all the time, without requests while others are
measured, and are warmed up in the first round: so a machine whose speed changes affects all alike.`,
  declared: {
    numbers: { rounds: 5, seconds: 4, connections: 256, 'warm-up': 10 },
    quick: { rounds: 3 },
    canBeAgainst: true,
    parts: Object.keys(DEPLOYMENTS),
    quickParts: [ONE_API, '1-api-3-idle', '2-apis', '4-apis', OPEN_LOOP, TAIL],
  },
  async run(options, stores) {
    const load = loadOf(options)
    const checkouts = checkoutsOf(options.against)
    console.log('  the broker warms up')
    {
      await using store = await openPlantStore(stores)
      await runLoad({ ...brokerWarmUp(load), ...(await store.deploy({ apis: 1 })) })
    }
    await using running = new AsyncDisposableStack()
    const parts = []
    for (const part of options.parts)
      for (const checkout of checkouts) parts.push(running.use(await startPart({ part, ...checkout }, stores, load)))
    const measured = await inRounds(parts, options.rounds, ({ measure }, round) => measure(round))
    const shape = options.against
      ? { base: (row: string) => row.replace(AGAINST, '') + AGAINST, head: 'of the other' }
      : { base: () => ONE_API, head: `of ${ONE_API}` }
    const compared = (...names: string[]) => ({
      ...{ spread: [...COSTS, ...names], base: shape.base },
      ratios: Object.fromEntries(names.map((name) => [name, shape.head])),
    })
    const openLoop = rowsWhere(measured, (row) => row.startsWith(OPEN_LOOP_ROW))
    const tail = rowsWhere(measured, (row) => row.startsWith(TAIL_ROW))
    const creates = rowsWhere(measured, (row) => !(row in { ...openLoop, ...tail }))
    return {
      title: 'Several apis and projectors on one machine',
      notes: [
        '[scaling.md](../explanation/scaling.md) continues from this.',
        `${options.rounds} rounds of ${options.seconds} s with ${options.connections} clients: medians, and from the lowest to the highest. CPU is in µs for each create or event, of all processes of a kind together; ${CPU} is without the load. An idle api gets no requests and reads what is appended.`,
        ...checkouts.map(({ folder, suffix }) => `Services${suffix}: revision ${revisionOf(folder)}.`),
      ],
      tables: [
        tableOf('creates', creates, COSTS, compared(RATE, CPU)),
        tableOf('ms, open loop', openLoop, OPEN_LOOP_FIGURES, compared('p50', 'p99')),
        tableOf('events', tail, COSTS, compared(IDLE)),
      ],
      targets: [
        ...ONE_API_TARGETS.flatMap(([row, figure, bound]) => {
          const ratio = ratioOfRows(creates, figure, row, ONE_API)
          return target(12, `${figure} of ${row}, against ${ONE_API}`, ratio, bound, '×')
        }),
        ...target(12, 'CPU of an idle api for each event', valuesOf(tail[TAIL_ROW], IDLE), { atMost: 1 }, 'µs'),
      ],
      measured: { creates, openLoop, tail },
    }
  },
}

/** The folders of the releases whose services are started, and the end of the name of their rows. */
function checkoutsOf(against: string | undefined) {
  const own = { folder: root, suffix: '' }
  if (against === undefined) return [own]
  const folder = resolve(against)
  for (const needed of ['services/api/src/main.ts', 'services/projector/src/main.ts', 'node_modules'])
    if (!existsSync(join(folder, needed)))
      throw new Failure(`--against ${against}: there is no ${needed}; expected a checkout in which npm ci has run`)
  return [own, { folder, suffix: AGAINST }]
}

const revisionOf = (folder: string) =>
  spawnSync('git', ['-C', folder, 'describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout?.trim() || 'unknown'

/** Starts the services of a part. Each `measure` loads them for a round; in the first one they are warmed up. */
async function startPart({ part, folder, suffix }: Part, stores: BenchStores, load: Load) {
  const store = await openPlantStore(stores, { checkout: folder })
  const services = await store.deploy(DEPLOYMENTS[part] as Deployment)
  return {
    name: part + suffix,
    async measure(round: number): Promise<Record<string, Figures>> {
      const order = { ...load, ...services, warmUpMs: round === 0 ? load.warmUpMs : SETTLE_MS }
      if (part === TAIL) return { [TAIL_ROW + suffix]: await measureTail(store, order) }
      const from = await store.logEnds()
      const { loads, rows } = await (part === OPEN_LOOP
        ? openLoops(OPEN_LOOP_ROW, order, OPEN_LOOP_RATES, round)
        : closedLoop(part, order))
      await checkRun({ missing: (ids) => store.missing(ids, from) }, loads)
      return Object.fromEntries(Object.entries(rows).map(([row, figures]) => [row + suffix, figures]))
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function closedLoop(name: string, order: LoadOrder) {
  const measured = await runLoad(order)
  return { loads: [measured], rows: { [name]: measured.figures } }
}

/** The CPU of an api without requests, for each event that others append at a fixed rate. */
async function measureTail(store: PlantStore, { processes, warmUpMs, measuredMs }: LoadOrder): Promise<Figures> {
  await append(store, (APPENDED_PER_SECOND * warmUpMs) / 1_000, paced())
  const [cpu, begin] = [readCpu(processes), performance.now()]
  const events = (APPENDED_PER_SECOND * measuredMs) / 1_000
  await append(store, events, paced())
  const seconds = (performance.now() - begin) / 1_000
  return { [RATE]: events / seconds, ...cpuFigures(cpuBetween(cpu, readCpu(processes)), events) }
}

/** The number of events that may be appended so far, at the fixed rate. */
function paced(): () => Promise<number> {
  const begin = performance.now()
  return async () => {
    await delay(APPEND_EVERY_MS)
    return Math.ceil((APPENDED_PER_SECOND * (performance.now() - begin)) / 1_000)
  }
}
