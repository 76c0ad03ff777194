import { Failure } from '../../local/processes/failure.mjs'
import { startPlantctl } from '../../tests/support/plantctl.ts'
import { checkRun } from '../contenders/check.ts'
import { type Load, RATE, runLoad } from '../load/load.ts'
import { CPU, LOAD, residentMegabytes } from '../measure/cpu.ts'
import type { Figures } from '../measure/spread.ts'
import { loadOf } from '../options.ts'
import { openPlantStore } from '../plant-store.ts'
import { append } from '../replay/append.ts'
import { ratioOfRows, rowsWhere, tableOf, target } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'
import { type BenchStores, brokerWarmUp } from '../stores.ts'

const FIGURES = [RATE, CPU, 'api', 'projector', 'broker', 'Redis', LOAD, 'p50', 'p99']
const SIZES = [1e4, 1e5, 1e6, 1e7]
/** The warm-up of creates is shorter than that of reads by this factor, because each create makes the store larger. */
const SHORTER_WARM_UP = 5
/** A store that measurements have grown by more than this factor is recreated before the next visit. */
const OUTGROWN = 1.5

export const growth: Scenario = {
  summary: 'cost of creates, reads, starts and rebuilds as a store grows',
  file: 'growth',
  help: `stores of 10,000 to 1,000,000 plants, visited in turn. In each visit api and projector start, and clients first read
and then create. At the end each store is rebuilt. --up-to 10000000 takes half an hour, 3 GB of disk, 2 GB of memory.`,
  declared: {
    numbers: { rounds: 5, seconds: 3, connections: 128, 'warm-up': 10, 'up-to': 1_000_000 },
    quick: { rounds: 2, 'up-to': 100_000 },
  },
  async run(options, stores) {
    const sizes = SIZES.filter((size) => size <= options['up-to'])
    if (sizes.length === 0) throw new Failure(`--up-to ${options['up-to']}: expected at least ${SIZES[0]}`)
    const load = loadOf(options)
    await using opened = new AsyncDisposableStack()
    const grown = []
    for (const size of sizes) grown.push(opened.use(await growStore(size, stores)))
    console.log('  the broker warms up')
    // On the largest store, which these plants grow the least.
    await grown.at(-1)?.visit(brokerWarmUp(load))
    const measured = await inRounds(grown, options.rounds, ({ visit }) => visit(load))
    const requests = rowsWhere(measured, (row) => row.includes(', '))
    const services: Record<string, readonly Figures[]> = {}
    for (const { name, rebuild } of grown) {
      const rebuilt = await rebuild()
      services[name] = (measured[name] ?? []).map((visit) => ({ ...visit, ...rebuilt }))
    }
    const larger = Object.keys(requests).filter((row) => row !== smallest(row))
    const ofSmallest = { base: smallest, ratios: { [CPU]: 'of the smallest' } }
    return {
      title: 'The cost of a store as it grows',
      notes: [
        '[performance.md](../explanation/performance.md#as-a-store-grows) explains how to read this.',
        `${options.rounds} rounds, ${options.seconds} s of reads and of creates in each, with ${options.connections} clients in a closed loop: medians, and from the lowest to the highest. CPU is in µs for each request.`,
      ],
      tables: [
        tableOf('requests', requests, FIGURES, { spread: [CPU], ...ofSmallest }),
        tableOf('stores', services, Object.keys(Object.values(services)[0]?.[0] ?? {})),
      ],
      targets: larger.flatMap((row) => {
        const ratio = ratioOfRows(requests, CPU, row, smallest(row))
        return target(9, `CPU of ${row}, against the smallest`, ratio, { atMost: 1.1 }, '×')
      }),
      measured: { requests, services },
    }
  },
}

const nameOf = (size: number) => `${size.toLocaleString('en')} plants`
/** The row of the smallest store. */
const smallest = (row: string) => row.replace(/, .*/, `, ${nameOf(SIZES[0] as number)}`)

/** A store of a size, which each visit measures at about that size. */
async function growStore(size: number, stores: BenchStores) {
  const name = nameOf(size)
  let current = await fill()

  async function fill() {
    console.log(`  ${name}: filling the store`)
    const store = await openPlantStore(stores)
    const bytes = await store.redisBytes()
    const ids = await append(store, size)
    const projector = await store.start('projector')
    await store.untilProjected(size)
    await projector.stop()
    const redisMegabytes = ((await store.redisBytes()) - bytes) / size
    return { store, ids, plants: size, redisMegabytes, from: await store.logEnds() }
  }

  async function visit(load: Load): Promise<Record<string, Figures>> {
    if (current.plants > size * OUTGROWN) {
      await current.store[Symbol.asyncDispose]()
      current = await fill()
    }
    const { store, ids, redisMegabytes, from } = current
    const [projector, api] = [await store.start('projector'), await store.start('api')]
    // Broker and projector cost as much while no client reads.
    const reading = { api: [api.pid], Redis: stores.processes.Redis }
    const creating = { api: [api.pid], projector: [projector.pid], ...stores.processes }
    const order = { ...load, urls: [api.url] }
    const reads = await runLoad({ ...order, processes: reading, readIds: ids })
    const creates = await runLoad({ ...order, processes: creating, warmUpMs: load.warmUpMs / SHORTER_WARM_UP })
    current.plants += creates.acknowledged.length
    await store.untilProjected(current.plants)
    await checkRun({ missing: (created) => store.missing(created, from) }, [reads, creates])
    const service = {
      ...{ 'api ready s': api.readySeconds, 'projector ready s': projector.readySeconds },
      ...{ 'api MB': residentMegabytes(api.pid), 'projector MB': residentMegabytes(projector.pid) },
      ...{ 'Redis MB per million': redisMegabytes, 'plants after the creates': current.plants },
    }
    await Promise.all([api.stop(), projector.stop()])
    return { [`creates, ${name}`]: creates.figures, [`reads, ${name}`]: reads.figures, [name]: service }
  }

  /** By `plantctl rebuild`, while no service runs. */
  async function rebuild(): Promise<Figures> {
    const { code, stdout, stderr } = await startPlantctl(['rebuild', '--json'], current.store.environment).ended
    if (code !== 0) throw new Failure(`plantctl rebuild ended with ${code}: ${stderr}`)
    const { offsets, seconds } = JSON.parse(stdout) as { offsets: number; seconds: number }
    return { 'rebuilt in s': seconds, 'rebuilt/s': offsets / seconds }
  }

  return { name, visit, rebuild, [Symbol.asyncDispose]: () => current.store[Symbol.asyncDispose]() }
}
