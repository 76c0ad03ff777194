import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { findPrometheus, RULES } from './prometheus.ts'

const programs = await findPrometheus()
const INTERVAL = '15s'
const LIMIT_MS = 60_000

const up = (instance: string) => `up{job="plant-store", instance="${instance}"}`
const api = (name: string) => `plant_store_${name}{instance="api"}`
const projector = (name: string) => `plant_store_${name}{instance="projector"}`
const requests = (more: string) => `plant_store_http_requests_total{route="/plants", ${more}}`
const SLOW = 'plant_store_create_duration_seconds_bucket{le="0.25", status="200"}'
const CONTAINER = 'container="plant-store-api", namespace="plants", pod="api-1"'
const EXIT_CODE = `kube_pod_container_status_last_terminated_exitcode{${CONTAINER}, uid="1"}`
const CONTAINER_READY = `kube_pod_container_status_ready{${CONTAINER}, uid="1"}`
const BACK_OFF = `kube_pod_container_status_waiting_reason{${CONTAINER}, uid="1", reason="CrashLoopBackOff"}`
const BACKUP = 'cronjob="eu-backup", namespace="plants"'
const BACKUP_CREATED = `kube_cronjob_created{${BACKUP}}`
const BACKUP_SUSPENDED = `kube_cronjob_spec_suspend{${BACKUP}}`
const LAST_BACKUP = `kube_cronjob_status_last_successful_time{${BACKUP}}`
const ofAnother = (series: string) => series.replace('namespace="plants"', 'namespace="another"')
const PARKED = 'plant_store_projector_parked_total{instance="projector", reason="badKey"}'

/** A time that is 26 hours ago at this minute. */
const longAgoAt = (minute: number) => `${60 * minute - 26 * 3_600}x80`

/** A service at 100 creates a second that is just within all bounds, in the notation of promtool. */
const HEALTHY: Record<string, string> = {
  [up('api')]: '1x80',
  [up('projector')]: '1x80',
  [requests('method="POST", status="200"')]: '0+1500x80',
  [SLOW]: '0+1500x80',
  plant_store_create_duration_seconds_count: '0+1500x80',
  [api('http_connections')]: '80x80',
  [api('http_connections_max')]: '100x80',
  [api('http_requests_under_way')]: '80x80',
  [api('http_requests_under_way_max')]: '100x80',
  [api('queue_bytes')]: '80x80',
  [api('queue_max_bytes')]: '100x80',
  [api('append_failures_total')]: '3x80',
  // It is always full, mostly of what is in the read model as well.
  [api('window_bytes')]: '100x80',
  [api('window_max_bytes')]: '100x80',
  [api('coverage_gap_partitions')]: '0x80',
  [api('api_ready')]: '1x80',
  [projector('projector_ready')]: '1x80',
  [api('tail_partitions')]: '6x80',
  [api('tail_lag_records')]: '10000x80',
  [api('window_claims')]: '100x80',
  [api('read_model_lag_records')]: '80x80',
  [projector('table_lag_records')]: '10000x80',
  [projector('table_append_failures_total')]: '3x80',
  [projector('table_waiting_partitions')]: '0x80',
  [api('read_model_reachable')]: '1x80',
  [projector('projector_partitions')]: '6x80',
  [PARKED]: '2x80',
  'nodejs_eventloop_lag_p99_seconds{job="plant-store", instance="api"}': '0.2x80',
  // promtool begins at 1970.
  [api('http_certificate_expiry_timestamp_seconds')]: '700000x80',
  [api('token_file_read_timestamp_seconds')]: '0+15x80',
  [EXIT_CODE]: '137x80',
  [CONTAINER_READY]: '0x80',
  [BACKUP_CREATED]: longAgoAt(0),
  [BACKUP_SUSPENDED]: '0x80',
  [LAST_BACKUP]: longAgoAt(20),
}

/** The series that differ, and the alerts that fire at these times. */
type Case = [name: string, different: Record<string, string>, firing: Record<string, string[]>]

/** It fires at this minute, and one evaluation earlier it does not. */
const firesAt = (minute: number, alert: string) => ({ [`${60 * minute - 15}s`]: [], [`${60 * minute}s`]: [alert] })

const failing = (error: number, values: string) => ({
  [requests(`method="POST", status="${Math.floor(error / 100)}", error="${error}"`)]: values,
})

const CASES: Case[] = [
  ['nothing is wrong', {}, { '20m': [] }],
  ['an instance is down', { [up('api')]: '1x19 0x60' }, firesAt(6, 'PlantStoreInstanceDown')],
  [
    'a pod ended with exit code 78, and later runs again',
    { [EXIT_CODE]: '137x19 78x60', [CONTAINER_READY]: '0x39 1x40', [BACK_OFF]: '_x19 1x15' },
    { '4m45s': [], '5m': ['PlantStorePreconditionFailed'], '10m': [] },
  ],
  [
    'a pod that ended with exit code 78 long ago is not ready',
    { [EXIT_CODE]: '78x80', [CONTAINER_READY]: '1x59 0x20', [BACK_OFF]: '1x4' },
    { '16m': [] },
  ],
  [
    'a pod of another application ended with exit code 78',
    {
      [EXIT_CODE.replace('plant-store-api', 'api')]: '78x80',
      [CONTAINER_READY.replace('plant-store-api', 'api')]: '0x80',
      [BACK_OFF.replace('plant-store-api', 'api')]: '1x80',
    },
    { '10m': [] },
  ],
  ['a coverage gap', { [api('coverage_gap_partitions')]: '0x19 1x60' }, firesAt(5.5, 'PlantStoreCoverageGap')],
  [
    'the read model lags',
    {
      [api('read_model_lag_records')]: '80x19 10001x60',
      [api('window_bytes')]: '80x80',
    },
    firesAt(6, 'PlantStoreReadModelLag'),
  ],
  [
    'a certificate expires in 7 days',
    { [api('http_certificate_expiry_timestamp_seconds')]: `${7 * 86_400}x80` },
    firesAt(1.25, 'PlantStoreCertificateExpires'),
  ],
  [
    'the token file is read for the last time after 285 s',
    { [api('token_file_read_timestamp_seconds')]: '0+15x19 285x60' },
    firesAt(11, 'PlantStoreTokenFileNotRead'),
  ],
  ['the last backup is old', { [LAST_BACKUP]: longAgoAt(5) }, firesAt(5.25, 'PlantStoreBackupOverdue')],
  [
    'no backup has succeeded',
    { [LAST_BACKUP]: '', [BACKUP_CREATED]: longAgoAt(5) },
    firesAt(5.25, 'PlantStoreBackupOverdue'),
  ],
  ['backups are suspended', { [LAST_BACKUP]: longAgoAt(0), [BACKUP_SUSPENDED]: '1x80' }, { '10m': [] }],
  [
    'the last backup of another application is old',
    { [ofAnother(LAST_BACKUP)]: longAgoAt(0), [ofAnother(BACKUP_SUSPENDED)]: '0x80' },
    { '10m': [] },
  ],
  ['no projector runs', { [projector('projector_partitions')]: '' }, firesAt(1, 'PlantStoreProjectorMissing')],
  [
    'no projector has a partition',
    { [projector('projector_partitions')]: '0x80' },
    firesAt(1, 'PlantStoreProjectorMissing'),
  ],
  ['no api runs', { [api('api_ready')]: '' }, firesAt(1, 'PlantStoreApiMissing')],
  [
    'no api is ready',
    { [api('api_ready')]: '0x80' },
    { ...firesAt(1, 'PlantStoreApiMissing'), '5m': ['PlantStoreApiMissing', 'PlantStoreNotReady'] },
  ],
  [
    'one of two apis is not ready',
    { 'plant_store_api_ready{instance="another"}': '0x80' },
    firesAt(5, 'PlantStoreNotReady'),
  ],
  ['a projector is not ready', { [projector('projector_ready')]: '0x80' }, firesAt(5, 'PlantStoreNotReady')],
  ['Redis is away', { [api('read_model_reachable')]: '0x80' }, firesAt(0.5, 'PlantStoreReadModelUnreachable')],
  [
    'most of a full window is not in the read model',
    { [api('read_model_lag_records')]: '81x80' },
    firesAt(1, 'PlantStoreWindowNearlyFull'),
  ],
  ['the tail lags', { [api('tail_lag_records')]: '10001x80' }, firesAt(1, 'PlantStoreTailStopped')],
  [
    'the read model is behind the log, of which the tail has the end',
    { [api('tail_lag_records')]: '10001x80', [api('coverage_gap_partitions')]: '1x80' },
    firesAt(0.5, 'PlantStoreCoverageGap'),
  ],
  ['the tail follows no partition', { [api('tail_partitions')]: '0x80' }, firesAt(1, 'PlantStoreTailStopped')],
  ['2 % of the creates are not written', failing(50301, '0+30x80'), { '10m': ['PlantStoreCreatesNotWritten'] }],
  ['0.5 % of the creates are not written', failing(50301, '0+7.5x80'), { '10m': [] }],
  ['0.2 % of the outcomes are unknown', failing(50302, '0+3x80'), { '10m': ['PlantStoreUnknownOutcomes'] }],
  ['0.05 % of the outcomes are unknown', failing(50302, '0+0.75x80'), { '10m': [] }],
  [
    '2 % of the creates are not written, and their clients have left',
    { [requests('method="POST", status="0", error="50301"')]: '0+30x80' },
    { '10m': ['PlantStoreCreatesNotWritten'] },
  ],
  [
    '2 % of the accepted creates are not written, and most creates are refused',
    { ...failing(50301, '0+30x80'), ...failing(50304, '0+15000x80') },
    { '5m': ['PlantStoreCreatesNotWritten'], '10m': ['PlantStoreCreatesNotWritten', 'PlantStoreOverload'] },
  ],
  ['appends fail', { [api('append_failures_total')]: '3x19 4+1x60' }, firesAt(6, 'PlantStoreAppendFailures')],
  ['20 % of the creates are slow', { [SLOW]: '0+1200x80' }, { '10m': ['PlantStoreSlowCreates'] }],
  [
    '20 % of the creates fail at once',
    { [SLOW]: '0+1200x80', [SLOW.replace('200', '503')]: '0+300x80' },
    { '10m': ['PlantStoreSlowCreates'] },
  ],
  ['no create has succeeded yet', { [SLOW]: '' }, { '10m': ['PlantStoreSlowCreates'] }],
  ['10 % of the creates are slow', { [SLOW]: '0+1350x80' }, { '10m': [] }],
  [
    'creates were slow until ten minutes ago',
    { [SLOW]: '0+900x30 28500+1500x50' },
    { '7m': ['PlantStoreSlowCreates'], '18m': [] },
  ],
  ['a limit refuses requests', failing(50304, '0+1x80'), firesAt(5.25, 'PlantStoreOverload')],
  ...['http_connections', 'http_requests_under_way', 'queue_bytes'].map(
    (limited): Case => [`${limited} is near its limit`, { [api(limited)]: '81x80' }, firesAt(1, 'PlantStoreNearLimit')],
  ),
  ['tokens cannot be checked', failing(50305, '0+1x80'), firesAt(1.25, 'PlantStoreTokensUnchecked')],
  ['the first internal error', failing(50000, '_x23 1x56'), firesAt(5.75, 'PlantStoreInternalError')],
  ['internal errors of an hour ago', failing(50000, '3x80'), { '20m': [] }],
  [
    'internal errors before Prometheus was away',
    {
      ...failing(50000, '3x20 _x40 3x40'),
      [up('api')]: '1x20 _x40 1x40',
      [up('projector')]: '1x20 _x40 1x40',
    },
    { '16m': [] },
  ],
  [
    'old internal errors, after a failed scrape',
    { [requests('instance="api", error="50000"')]: '3x20 stale 3x59', [up('api')]: '1x20 0 1x59' },
    { '10m15s': [], '10m30s': [] },
  ],
  [
    'an internal error after a restart',
    failing(50000, '3x30 1x49'),
    { '7m30s': [], '7m45s': ['PlantStoreInternalError'] },
  ],
  [
    'a record is parked before the first sample of a projector',
    { [PARKED]: '_x30 5x49', [up('projector')]: '1x80' },
    { '7m15s': [], '7m30s': ['PlantStoreUnreadableRecords'] },
  ],
  ['a record is parked', { [PARKED]: '2x19 3x60' }, firesAt(5, 'PlantStoreUnreadableRecords')],
  ['plants that cannot be read', failing(50001, '0+1x80'), { '3m': ['PlantStoreUnreadableRecords'] }],
  [
    'the table is behind',
    {
      [projector('table_lag_records')]: '5001x80',
      'plant_store_table_lag_records{instance="another"}': '5000x80',
    },
    firesAt(5, 'PlantStoreTableLag'),
  ],
  [
    'appends to the table fail',
    { [projector('table_append_failures_total')]: '3x19 4+1x60' },
    firesAt(10, 'PlantStoreTableLag'),
  ],
  [
    'the table cannot be read',
    { [projector('table_lag_records')]: '', [projector('table_waiting_partitions')]: '0x19 1x60' },
    firesAt(10, 'PlantStoreTableLag'),
  ],
  [
    'the event loop is late',
    { 'nodejs_eventloop_lag_p99_seconds{job="plant-store", instance="api"}': '0.21x80' },
    firesAt(2, 'PlantStoreEventLoopDelay'),
  ],
]

it('every alert has a case and a section in its runbook', () => {
  const alerts = [...RULES.matchAll(/- alert: (\w+)\n[\s\S]*?runbook_url: (\S+)/g)]
  const names = alerts.map(([, name]) => name)
  const runbook = readFileSync(new URL('../../docs/how-to/alerts.md', import.meta.url), 'utf8')
  expect([...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)).toEqual(names)
  for (const [, name = '', url] of alerts) expect(url).toBe(`docs/how-to/alerts.md#${name.toLowerCase()}`)
  const fired = new Set(CASES.flatMap(([, , firing]) => Object.values(firing).flat()))
  expect(fired).toEqual(new Set(names))
})

it.runIf(programs !== undefined)('promtool: the configurations are valid', async () => {
  const files = ['prometheus.yml', 'prometheus.compose.yml']
  const { code, output } = await runCommand(programs?.promtool ?? '', ['check', 'config', ...files], {
    cwd: fileURLToPath(new URL('../../deploy/observability', import.meta.url)),
    timeoutMs: LIMIT_MS,
  })
  expect(code, output).toBe(0)
})

it.runIf(programs !== undefined)('promtool: each alert fires by its rule, and no other with it', async () => {
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'rules.yml'), RULES)
  const tests = CASES.map(([name, different, firing]) => ({
    name,
    interval: INTERVAL,
    input_series: Object.entries({ ...HEALTHY, ...different })
      .filter(([, values]) => values !== '')
      .map(([series, values]) => ({ series, values })),
    promql_expr_test: Object.entries(firing).map(([time, names]) => ({
      expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: time,
      exp_samples: names.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
    })),
  }))
  const file = join(dir, 'tests.yml')
  writeFileSync(file, JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: INTERVAL, tests }))
  const { code, output } = await runCommand(programs?.promtool ?? '', ['test', 'rules', file], {
    timeoutMs: LIMIT_MS,
  })
  expect(code, output).toBe(0)
})
