import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'
import { freePort } from '../../local/processes/port.ts'
import { startProcess, untilReady } from '../../local/processes/process.ts'
import { findPrograms } from '../support/debian-package.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unlessMissing } from '../support/unless-missing.ts'

const START_TIMEOUT_MS = 30_000
const STOP_GRACE_MS = 5_000
/** The interval at which the Prometheus of a test scrapes and evaluates. */
const EVERY = '500ms'

/** The recording and alert rules for operators. */
export const RULES = readFileSync(new URL('../../deploy/observability/rules.yml', import.meta.url), 'utf8')

type Data = { result: { value: [number, string] }[] }
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

/** Starts a Prometheus that scrapes these operations ports by these rules, until the test ends. */
export async function startPrometheus({ prometheus }: Programs, rules: string, opsUrls: readonly string[]) {
  const dir = temporaryFolder()
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

  onTestFinished(() => running.stop({ graceMs: STOP_GRACE_MS }).then(() => undefined))

  /** Resolves to the values of an expression now. */
  return async function valuesOf(expression: string): Promise<number[]> {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`)
    const { data, error } = (await response.json()) as { data: Data; error?: string }
    if (error !== undefined) throw new Error(`Prometheus refuses ${expression}: ${error}`)
    return data.result.map(({ value: [, value] }) => Number(value))
  }
}
