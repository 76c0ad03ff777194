import { setTimeout as delay } from 'node:timers/promises'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { startPlantctl } from '../../tests/support/plantctl.ts'
import { TOKEN } from '../contenders/app-process.ts'
import type { LoadOrder, MeasuredLoad } from '../load/measured-load.ts'
import { runClosedLoop, runReads } from '../load/run-load.ts'
import { residentBytes } from '../measure/memory.ts'
import { openPlantStore, type PlantStore, type RunningApi } from '../plant-store.ts'
import { openReplayed } from '../replay/replayed.ts'
import { seed } from '../replay/seed.ts'
import { checkRun } from '../side-by-side/check.ts'
import type { BenchStores } from '../stores.ts'
import { type GrownReadModel, openGrownReadModel } from './grown-read-model.ts'

export type LoadOptions = Pick<LoadOrder, 'connections' | 'measuredMs'>

/** The cost of one kind of request: µs of CPU of each process that takes part, and latencies in ms. */
export type Cost = { perSecond: number; cpuMicros: Record<string, number>; p50: number; p99: number }

/** What was measured in one start of the services on a store of some size. */
export type Visit = {
  plantsBefore: number
  plantsAfter: number
  apiReadyMs: number
  projectorReadyMs: number
  reads: Cost
  creates: Cost
  apiBytes: number
  projectorBytes: number
}
export type Filled = { plants: number; redisBytes: number }
export type Rebuilt = { plants: number; seconds: number }

const CREATING = ['api', 'broker', 'projector', 'Redis']
/** Broker and projector cost as much while nobody reads. */
const READING = ['api', 'Redis']
/** V8 compiles the api while it works: a read costs half as much after the first 50,000. */
const READS_WARM_UP_MS = 6_000
/** Shorter, because each create makes the store larger. */
const CREATES_WARM_UP_MS = 2_000
const SAMPLED_IDS = 100_000
/** A store that measurements have grown by more than this factor is recreated before the next visit. */
const OUTGROWN = 1.5
const PROJECTED = { everyMs: 100, minPerSecond: 2_000, moreMs: 60_000 }

/** A store that `fill` brings to a size, and that each `visit` measures at about that size. */
export async function openGrownStore(size: number, stores: BenchStores) {
  let store = await openPlantStore(stores)
  let readModel = await openGrownReadModel(store)
  const redis = await openReplayed(stores.redisUrl, store)
  const filled: Filled[] = []

  async function fill(onProgress: (appended: number) => void): Promise<void> {
    const kafka = createKafka(stores.kafkaBrokers.split(','), 'bench', createLog('bench', 'error'))
    const bytesBefore = await redis.usedBytes()
    await seed(kafka, store, size, onProgress)
    const projector = await store.startProjector()
    await untilProjected(readModel, size)
    await projector.stop()
    filled.push({ plants: size, redisBytes: (await redis.usedBytes()) - bytesBefore })
  }

  async function recreate(): Promise<void> {
    await readModel.close()
    await store.remove()
    store = await openPlantStore(stores)
    readModel = await openGrownReadModel(store)
    await fill(() => {})
  }

  return {
    size,
    filled: filled as readonly Filled[],
    fill,

    /** A longer warm-up of creates also warms up the broker and Redis, which keep running between visits. */
    async visit(load: LoadOptions, createsWarmUpMs = CREATES_WARM_UP_MS): Promise<Visit> {
      if ((await readModel.plants()) > size * OUTGROWN) await recreate()
      const plantsBefore = await readModel.plants()
      const projector = await store.startProjector()
      const api = await store.startApi()
      try {
        const pids = new Map([['api', api.pid], ['projector', projector.pid], ...stores.processes])
        const order = { ...load, url: api.url, token: TOKEN, processes: pids }
        const ids = await readModel.sampleIds(SAMPLED_IDS)
        const reads = await runReads({ ...order, warmUpMs: READS_WARM_UP_MS, ids })
        const creates = await runClosedLoop({ ...order, warmUpMs: createsWarmUpMs })
        const plantsAfter = plantsBefore + creates.acknowledged.length
        await untilProjected(readModel, plantsAfter)
        // A plant that is in Redis is in the log, too.
        await checkRun({ missing: async (ids) => readModel.missing([...ids]) }, [reads, creates])
        return {
          ...{ plantsBefore, plantsAfter, reads: costOf(reads, READING), creates: costOf(creates, CREATING) },
          ...{ apiReadyMs: api.readyAfterMs, projectorReadyMs: projector.readyAfterMs },
          ...{ apiBytes: bytesOf(api), projectorBytes: bytesOf(projector) },
        }
      } finally {
        await Promise.all([api.stop(), projector.stop()])
      }
    },

    /** By `plantctl rebuild`, while no service runs. */
    rebuild: (): Promise<Rebuilt> => rebuild(store),

    async close(): Promise<void> {
      await readModel.close()
      await redis.close()
    },
  }
}

export type GrownStore = Awaited<ReturnType<typeof openGrownStore>>

async function untilProjected(readModel: GrownReadModel, plants: number): Promise<void> {
  const { everyMs, minPerSecond, moreMs } = PROJECTED
  const deadline = performance.now() + moreMs + (plants / minPerSecond) * 1_000
  for (let there = await readModel.plants(); there < plants; there = await readModel.plants()) {
    if (performance.now() > deadline)
      throw new Error(`the projector did not finish in time: ${there} of ${plants} plants are in Redis`)
    await delay(everyMs)
  }
}

function costOf({ good, seconds, cpuSeconds, latency }: MeasuredLoad, processes: readonly string[]): Cost {
  const microsOf = (name: string) => ((cpuSeconds.get(name) ?? Number.NaN) / good) * 1e6
  return {
    perSecond: good / seconds,
    cpuMicros: Object.fromEntries(processes.map((name) => [name, microsOf(name)])),
    ...{ p50: latency.p50, p99: latency.p99 },
  }
}

const bytesOf = ({ pid }: Pick<RunningApi, 'pid'>) => residentBytes(pid) ?? Number.NaN

async function rebuild({ environment }: PlantStore): Promise<Rebuilt> {
  const { ended, kill } = startPlantctl(['rebuild', '--json'], environment)
  const killAtExit = () => kill('SIGKILL')
  process.once('exit', killAtExit)
  const { code, stdout, stderr } = await ended
  process.off('exit', killAtExit)
  if (code !== 0) throw new Error(`plantctl rebuild ended with ${code}: ${stderr}`)
  const { offsets, seconds } = JSON.parse(stdout) as { offsets: number; seconds: number }
  return { plants: offsets, seconds }
}
