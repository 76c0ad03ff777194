import { expect, it } from 'vitest'
import { dashboardJson } from '../../deploy/observability/dashboard.ts'
import { readPlant } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { complaintsAbout, findPrometheus, type Programs } from './prometheus.ts'
import { RANGE, startWatchedStore } from './watched-store.ts'

type Panel = { title: string; targets?: { expr: string; legendFormat: string }[] }

/** Its default metrics are gauges with names like those of counters. */
const OF_PROM_CLIENT = /^(nodejs|process)_/

const programs = await findPrometheus()

it.runIf(programs !== undefined)(
  'every query of every panel brings data, from metrics without complaints',
  async () => {
    const { api, projector, prometheus } = await startWatchedStore(programs as Programs)
    await readPlant(api.url, 1n)
    // Not found: an error to show.
    await readPlant(api.url, -1n)
    for (const { opsUrl } of [api, projector]) {
      const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
      const complaints = await complaintsAbout(programs as Programs, metrics)
      expect(complaints.filter((one) => !OF_PROM_CLIENT.test(one))).toEqual([])
    }
    const figures: string[] = []
    // Rows are among the panels, without queries.
    for (const { title, targets = [] } of JSON.parse(dashboardJson()).panels as Panel[])
      for (const { expr, legendFormat } of targets)
        await eventually(async () => {
          const values = await prometheus.values(expr.replaceAll('$__rate_interval', RANGE))
          expect(values.filter(Number.isFinite), expr).not.toEqual([])
          figures.push(`| ${title} | ${legendFormat} | ${values.map((value) => value.toPrecision(3)).join(' ')} |`)
        })
    expect(figures).not.toEqual([])
    console.log(figures.join('\n'))
  },
)
