import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { TOKEN } from '../contenders/app-process.ts'
import { cpuBetween, readCpu } from '../measure/cpu.ts'
import { bodyOf, newIds } from '../plant.ts'
import { openPlantStore, type RunningService } from '../plant-store.ts'
import { seed } from '../replay/seed.ts'
import type { BenchStores } from '../stores.ts'

/** µs of CPU of an api for each event that it reads, so many a second. */
export type BulkTail = { cpuMicros: number; perSecond: number }

/** Within the 128 MiB of a window, so that none is dropped before Redis has it. */
export const BULK_EVENTS = 300_000
/** More than enough that each partition has one of them, which is answered when the tail has come so far. */
const LAST_CREATES = 200

/** What an api takes that is asked for nothing, while others write as fast as the log takes it. */
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
  if (status !== 200) throw new Error(`a create behind ${BULK_EVENTS} events of others was answered ${status}`)
}
