import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../../local/processes/command.ts'
import { freePort } from '../../local/processes/port.ts'
import { startProcess, untilReady } from '../../local/processes/process.ts'
import { findPrograms } from '../support/debian-package.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unlessMissing } from '../support/unless-missing.ts'

const START_TIMEOUT_MS = 30_000
/** The interval at which the Prometheus of a test scrapes and evaluates. */
const EVERY = '500ms'

/** The programs of Prometheus. */
export type Programs = { prometheus: string; promtool: string }

export const findPrometheus = (): Promise<Programs | undefined> =>
  unlessMissing('The alerts were', () =>
    findPrograms('prometheus', { prometheus: 'usr/bin/prometheus', promtool: 'usr/bin/promtool' }),
  )

/** The complaints of promtool about metrics in the text format; empty if there are none. */
export async function complaintsAbout({ promtool }: Programs, metrics: string): Promise<string[]> {
  const file = join(temporaryFolder(), 'metrics')
  writeFileSync(file, metrics)
  // It reads its input alone.
  const args = ['-c', 'exec "$0" check metrics < "$1"', promtool, file]
  const { output } = await runCommand('sh', args, { timeoutMs: START_TIMEOUT_MS })
  return output.split('\n').filter(Boolean)
}

/** Starts a Prometheus that scrapes these operations ports by these rules; `dir` belongs to it alone. */
export async function startPrometheus(
  { prometheus }: Programs,
  dir: string,
  rules: string,
  opsUrls: readonly string[],
) {
  const targets = opsUrls.map((url) => new URL(url).host)
  const [configFile, rulesFile] = [join(dir, 'prometheus.yml'), join(dir, 'rules.yml')]
  writeFileSync(rulesFile, rules)
  writeFileSync(
    configFile,
    JSON.stringify({
      global: { scrape_interval: EVERY, evaluation_interval: EVERY },
      rule_files: [rulesFile],
      scrape_configs: [{ job_name: 'plant-store', scrape_timeout: EVERY, static_configs: [{ targets }] }],
    }),
  )
  const url = `http://127.0.0.1:${await freePort()}`
  const args = [
    `--config.file=${configFile}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=${new URL(url).host}`,
  ]
  const running = await startProcess({ name: 'prometheus', command: prometheus, args, logFile: join(dir, 'log') })
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await untilReady(running, { isReady, startTimeoutMs: START_TIMEOUT_MS })

  async function query<T>(path: string): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}`)
    const { data, error } = (await response.json()) as { data: T; error?: string }
    if (error !== undefined) throw new Error(`Prometheus refuses ${path}: ${error}`)
    return data
  }
  return {
    running,

    /** The names of the alerts that fire now. */
    async firing(): Promise<string[]> {
      const { alerts } = await query<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts')
      const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
      return [...new Set(names)].sort()
    },

    /** The values of an expression now. */
    async values(expression: string): Promise<number[]> {
      const path = `query?query=${encodeURIComponent(expression)}`
      const { result } = await query<{ result: { value: [number, string] }[] }>(path)
      return result.map(({ value: [, value] }) => Number(value))
    },
  }
}
