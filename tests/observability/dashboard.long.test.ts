import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { dashboardJson } from '../../deploy/observability/dashboard.ts'
import { createPlant, readPlant, untilStopped } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { WITH_TABLE } from '../support/plants-table.ts'
import { createTableTopic } from '../support/topic.ts'
import { complaintsAbout, findPrometheus, type Programs, RULES, startPrometheus } from './prometheus.ts'

/** The range of rates, instead of minutes. */
const RANGE = '5s'
/** Between the creates: the cores are left to other tests. */
const PAUSE_MS = 50
/** Its default metrics are gauges with names like those of counters. */
const OF_PROM_CLIENT = /^(nodejs|process)_/
const programs = await findPrometheus()

it.runIf(programs !== undefined)(
  'every query of every panel brings data, and services have the metrics of every rule, without complaints',
  async () => {
    const store = await createPlantStore()
    await createTableTopic(store)
    const [api, projector] = await Promise.all([store.startApi({}), store.startProjector(WITH_TABLE)])
    const rules = RULES.replaceAll(/\[(?:5m|1h)\]/g, `[${RANGE}]`)
    const valuesOf = await startPrometheus(programs as Programs, rules, [api.opsUrl, projector.opsUrl])
    untilStopped(1, (id) => Promise.all([createPlant(api.url, id, `plant ${id}`), delay(PAUSE_MS)]))
    await readPlant(api.url, 1n)
    // Not found: an error to show.
    await readPlant(api.url, -1n)

    const known = new Set<string>()
    for (const { opsUrl } of [api, projector]) {
      const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
      for (const [, name = ''] of metrics.matchAll(/^# TYPE (\w+)/gm)) known.add(name)
      const complaints = await complaintsAbout(programs as Programs, metrics)
      expect(complaints.filter((one) => !OF_PROM_CLIENT.test(one))).toEqual([])
    }
    const inRules = new Set(
      RULES.match(/\b(plant_store|nodejs)_\w+\b(?!:)/g)?.map((name) => name.replace(/_(bucket|count)$/, '')),
    )
    expect([...inRules].filter((name) => !known.has(name))).toEqual([])

    // Rows are among the panels, without queries.
    const panels: { targets?: { expr: string }[] }[] = JSON.parse(dashboardJson()).panels
    const queries = panels.flatMap(({ targets = [] }) => targets)
    expect(queries).not.toEqual([])
    for (const { expr } of queries)
      await eventually(async () => {
        const values = await valuesOf(expr.replaceAll('$__rate_interval', RANGE))
        expect(values.filter(Number.isFinite), expr).not.toEqual([])
      })
  },
)
