import { VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common'
import { DashboardBuilder, DatasourceVariableBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

const DATA_SOURCE = { type: 'prometheus', uid: '$datasource' }
const GRID_COLUMNS = 24
const PANEL_HEIGHT = 7
const NARROWEST = 6

/** A query of Prometheus, and the name of each of its lines. */
type Query = [expression: string, legend: string]

function panel(title: string, unit: string, queries: Query[]): PanelBuilder {
  const panel = new PanelBuilder()
    .title(title)
    .unit(unit)
    .min(0)
    .fillOpacity(8)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .height(PANEL_HEIGHT)
    .datasource(DATA_SOURCE)
  for (const [expression, name] of queries)
    panel.withTarget(new DataqueryBuilder().datasource(DATA_SOURCE).expr(expression).legendFormat(name))
  return panel
}

const RATE = '$__rate_interval'
const rate = (counter: string, by: string) => `sum by (${by}) (rate(plant_store_${counter}[${RATE}]))`
const total = (counter: string) => `sum(rate(plant_store_${counter}[${RATE}]))`
const quantile = (q: number, histogram: string, by: string) =>
  `histogram_quantile(${q}, sum by (le${by && `, ${by}`}) (rate(plant_store_${histogram}_bucket[${RATE}])))`
const percentiles = (histogram: string): Query[] => [
  [quantile(0.5, histogram, ''), 'median'],
  [quantile(0.99, histogram, ''), '99 %'],
]
const share = (used: string, limit: string) => `plant_store_${used} / plant_store_${limit}`
const INSTANCE = '{{instance}}'

const ROWS: Record<string, PanelBuilder[]> = {
  'Requests of each operation': [
    panel('Rate', 'reqps', [[rate('http_requests_total', 'method, route'), '{{method}} {{route}}']]),
    panel('Errors', 'reqps', [[rate('http_requests_total{error!=""}', 'error'), '{{error}}']]).description(
      'By the number in the body; docs/reference/http-api.md lists them.',
    ),
    panel('Duration, 99 %', 's', [
      [quantile(0.99, 'http_request_duration_seconds', 'method, route'), '{{method}} {{route}}'],
    ]),
    panel('Used part of the limits', 'percentunit', [
      [share('http_connections', 'http_connections_max'), `connections ${INSTANCE}`],
      [share('http_requests_under_way', 'http_requests_under_way_max'), `requests ${INSTANCE}`],
      [share('queue_bytes', 'queue_max_bytes'), `queue ${INSTANCE}`],
    ]),
  ],
  'The way of a create': [
    panel('Creates from look-up to outcome', 'short', [['plant_store_queue_records', INSTANCE]]),
    panel('Creates in an append request', 'short', [
      [`${rate('append_records_sum', 'instance')} / ${rate('append_records_count', 'instance')}`, INSTANCE],
    ]),
    panel('Time of an append', 's', percentiles('append_duration_seconds')),
    panel('From the append to the verdict', 's', percentiles('verdict_wait_seconds')),
    panel('Verdicts', 'ops', [
      [rate('verdicts_total', 'by'), 'by {{by}}'],
      [total('append_failures_total'), 'failed attempts'],
    ]).description(
      'acknowledgement: no other api has written in between, so the create need not wait for the tail or Redis.',
    ),
  ],
  'Log and read model': [
    panel('Records behind the log', 'short', [
      ['sum(plant_store_projector_lag_records)', 'read model, by the projectors'],
      ['plant_store_read_model_lag_records', `read model, by ${INSTANCE}`],
      ['plant_store_tail_lag_records', `tail of ${INSTANCE}`],
      ['sum(plant_store_table_lag_records)', 'table, behind the read model'],
    ]),
    panel('Partitions', 'short', [
      ['sum(plant_store_projector_partitions)', 'with a projector'],
      ['min(plant_store_tail_partitions)', 'followed by every api'],
      ['max(plant_store_coverage_gap_partitions)', 'with a coverage gap'],
      ['sum(plant_store_table_waiting_partitions)', 'not written into the table'],
    ]),
    panel('Used part of the window', 'percentunit', [
      [share('window_bytes', 'window_max_bytes'), INSTANCE],
      [share('read_model_lag_records', 'window_claims'), `not in the read model, ${INSTANCE}`],
    ]),
    panel('In the read model', 'short', [
      ['sum(plant_store_read_model_plants)', 'plants'],
      ['sum(plant_store_read_model_voids)', 'voids'],
      ['sum(plant_store_read_model_parked)', 'parked'],
    ]),
  ],
  Projectors: [
    panel('Applied records', 'ops', [[rate('projector_records_total', 'instance'), INSTANCE]]),
    panel('Time of a batch', 's', percentiles('projector_apply_duration_seconds')),
    panel('Refused, failed and parked', 'ops', [
      [total('projector_stale_total'), 'stale batches'],
      [total('projector_apply_failures_total'), 'failed batches'],
      [total('table_append_failures_total'), 'failed appends to the table'],
      [rate('projector_parked_total', 'reason'), 'parked: {{reason}}'],
    ]),
  ],
  Processes: [
    panel('Ready', 'short', [
      ['plant_store_api_ready', INSTANCE],
      ['plant_store_projector_ready', INSTANCE],
      ['plant_store_read_model_reachable', `Redis from ${INSTANCE}`],
    ]),
    panel('CPU', 'percentunit', [[`rate(process_cpu_seconds_total{job="plant-store"}[${RATE}])`, INSTANCE]]),
    panel('Memory', 'bytes', [['process_resident_memory_bytes{job="plant-store"}', INSTANCE]]),
    panel('Delay of the event loop, 99 %', 's', [['nodejs_eventloop_lag_p99_seconds{job="plant-store"}', INSTANCE]]),
    panel('Garbage collection, part of the time', 'percentunit', [
      [`sum by (instance) (rate(nodejs_gc_duration_seconds_sum{job="plant-store"}[${RATE}]))`, INSTANCE],
    ]),
    panel('Versions', 'short', [['count by (service, version) (plant_store_build_info)', '{{service}} {{version}}']]),
  ],
}

/** The text of `dashboard.json`, which Grafana imports. */
export function dashboardJson(): string {
  const dashboard = new DashboardBuilder('Plant Store')
    .uid('plant-store')
    .description('Generated by npm run describe.')
    .refresh('10s')
    .time({ from: 'now-1h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').type('prometheus').label('Data source'))
  for (const [title, panels] of Object.entries(ROWS)) {
    dashboard.withRow(new RowBuilder(title))
    const width = Math.max(NARROWEST, Math.floor(GRID_COLUMNS / panels.length))
    for (const panel of panels) dashboard.withPanel(panel.span(width))
  }
  return `${JSON.stringify(dashboard.build(), null, 2)}\n`
}
