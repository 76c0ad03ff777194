import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, vi } from 'vitest'
import { createPlant, untilStopped } from '../support/client.ts'
import { createPlantStore, type Environment } from '../support/plant-store.ts'
import { WITH_TABLE } from '../support/plants-table.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTableTopic } from '../support/topic.ts'
import { RULES } from './alert-rules.ts'
import { type Programs, startPrometheus } from './prometheus.ts'

/** The range of rates, instead of minutes. */
export const RANGE = '5s'
/** The same rules, with ranges and waits of seconds. */
const QUICK_RULES = RULES.replaceAll(/\[(?:5m|1h)\]/g, `[${RANGE}]`)
  .replaceAll('offset 5m', `offset ${RANGE}`)
  .replaceAll(/for: \d+[ms]/g, 'for: 1s')
/** Between the creates of a connection: the cores are left to other tests. */
const PAUSE_MS = 50
const STOP_GRACE_MS = 5_000
/** As often as Prometheus evaluates its rules. */
const POLLED = { timeout: 58_000, interval: 500 }

/** A store under load, and a Prometheus that watches it and sees nothing wrong; both end with the test. */
export async function startWatchedStore(
  programs: Programs,
  settings: Record<string, string> = {},
  stores?: Environment,
) {
  const store = await createPlantStore(stores)
  const table = await createTableTopic(store)
  const [api, projector] = await Promise.all([store.startApi(settings), store.startProjector(WITH_TABLE)])
  const opsUrls = [api.opsUrl, projector.opsUrl]
  const prometheus = await startPrometheus(programs, temporaryFolder(), QUICK_RULES, opsUrls)
  onTestFinished(() => prometheus.running.stop({ graceMs: STOP_GRACE_MS }).then(() => undefined))

  /** Creates plants from this id on. */
  const load = (connections: number, firstId: bigint) =>
    untilStopped(connections, (id) => Promise.all([createPlant(api.url, firstId + id, `plant ${id}`), delay(PAUSE_MS)]))
  load(1, 0n)
  await vi.waitFor(async () => {
    expect(await prometheus.values('plant_store:creates:rate5m > 1')).toHaveLength(1)
    expect(await prometheus.values('count(plant_store_build_info)')).toEqual([2])
    // Until it has seen both services and the projector has its partitions, some alerts fire.
    expect(await prometheus.firing()).toEqual([])
  }, POLLED)
  return {
    ...{ store, table, api, projector, prometheus, load },

    /** Resolves when these alerts fire, and perhaps others. */
    untilFiring: (...alerts: string[]) =>
      vi.waitFor(async () => expect(await prometheus.firing()).toEqual(expect.arrayContaining(alerts)), POLLED),

    /** Resolves when exactly these alerts fire. */
    untilOnly: (...alerts: string[]) =>
      vi.waitFor(async () => expect(await prometheus.firing()).toEqual(alerts), POLLED),
  }
}
