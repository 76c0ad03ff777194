import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { TOKEN } from '../contenders/app-process.ts'
import { cpuBetween, readCpu } from '../measure/cpu.ts'
import { bodyOf, newIds } from '../plant.ts'
import { openPlantStore, type RunningService } from '../plant-store.ts'
import { seed } from '../replay/seed.ts'
import type { BenchStores } from '../stores.ts'

/** µs of CPU of an api for each event that it reads, and how many it reads a second. */
export type BulkTail = { cpuMicros: number; perSecond: number }

/** They fit into the 128 MiB of the windows, so that no claim is dropped before Redis has it. */
export const BULK_EVENTS = 300_000
/** Enough that each partition gets one: its response shows that the tail has read the partition to its end. */
const LAST_CREATES = 200

/** Measures the CPU of an api without requests, while others append as fast as the log accepts the events. */
export async function measureBulkTail(stores: BenchStores): Promise<BulkTail> {
  const store = await openPlantStore(stores)
  const services: RunningService[] = []
  try {
    services.push(await store.startProjector())
    const api = await store.startApi()
    services.push(api)
    const pids = new Map([['api', api.pid]])
    const [cpu, begin] = [readCpu(pids), performance.now()]
    const kafka = createKafka(stores.kafkaBrokers.split(','), 'bench', createLog('bench', 'error'))
    await seed(kafka, store, BULK_EVENTS, () => {})
    const newId = newIds()
    await Promise.all(Array.from({ length: LAST_CREATES }, () => create(api.url, newId())))
    const seconds = (performance.now() - begin) / 1_000
    const used = cpuBetween(cpu, readCpu(pids)).get('api') ?? Number.NaN
    return { cpuMicros: (used / BULK_EVENTS) * 1e6, perSecond: BULK_EVENTS / seconds }
  } finally {
    await Promise.all(services.map(({ stop }) => stop()))
    await store.remove()
  }
}

async function create(url: string, id: bigint): Promise<void> {
  const { status } = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: bodyOf(id),
  })
  if (status !== 200) throw new Error(`a create after ${BULK_EVENTS} events of others got status ${status}`)
}
