import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import { type Run, readRun } from '../local/launch/run-file.ts'
import { createPlant, readPlant } from './support/client.ts'
import { alive, launch, NOWHERE, npmStart, prepareStart, stopStart } from './support/npm-start.ts'

const source = inject('storeSource')
const other = source === 'docker' ? 'processes' : 'docker'
const FOUR_STARTS = { timeout: 1_200_000 }

it(
  'npm start: a plant survives a restart and a kill -9 of launcher and broker; --fresh deletes it',
  FOUR_STARTS,
  async () => {
    const { localDir, environment } = await prepareStart()

    const first = await npmStart(localDir, environment)
    for (const folder of ['data', 'logs']) expect(statSync(join(localDir, folder)).mode & 0o777).toBe(0o700)
    expect(first.storeSettings.api).toEqual({
      KAFKA_BROKERS: `127.0.0.1:${environment.KAFKA_PORT}`,
      REDIS_URL: `redis://127.0.0.1:${environment.REDIS_PORT}`,
    })
    expect(first.log()).toContain(`${first.url}/docs`)
    expect(first.dockerProject === undefined).toBe(source === 'processes')
    if (source === 'processes')
      expect(first.log()).toMatch(/run as processes: (no Docker engine responds|there is no docker command)/)
    expect(statSync(join(localDir, 'run.json')).mode & 0o777).toBe(0o600)
    expect((await createPlant(first.url, 1n, 'Monstera')).response?.status).toBe(200)
    expect((await createPlant(first.url, 1n, 'Monstera')).response?.body).toMatchObject({ error: 40003 })
    await stopStart(first.launcher)
    expectNothingLeft(localDir, first)

    const second = await npmStart(localDir, environment, '--with', source)
    expect((await readPlant(second.url, 1n))?.body).toMatchObject({ name: 'Monstera', tag: 'test' })
    const running = `Plant Store is already running at ${second.url}`
    expect(await refusalOf(localDir, environment)).toContain(running)
    process.kill(second.launcher.pid, 'SIGKILL')
    killBroker(second)
    await second.launcher.exited
    expect(readRun(localDir)).toBeUndefined()

    writeFileSync(join(localDir, 'data', 'source'), other)
    const third = await npmStart(localDir, environment)
    expect(third.log()).toContain(`--with ${other} has them`)
    expect(alive(Object.values(second.pids))).toEqual([])
    expect((await createPlant(third.url, 1n, 'Monstera')).response?.body).toMatchObject({ error: 40003 })
    await stopStart(third.launcher)

    const fresh = await npmStart(localDir, environment, '--fresh')
    expect((await readPlant(fresh.url, 1n))?.status).toBe(404)
    await stopStart(fresh.launcher)
    expectNothingLeft(localDir, fresh)
  },
)

it('npm start says why it does not start', async () => {
  const { localDir, environment } = await prepareStart()
  const noDocker = /--with docker: (no Docker engine responds|there is no docker command)/
  expect(await refusalOf(localDir, { ...environment, DOCKER_HOST: NOWHERE }, '--with', 'docker')).toMatch(noDocker)
  // npm has taken the option, because -- is missing before it.
  expect(await refusalOf(localDir, { ...environment, npm_config_fresh: 'true' })).toContain('npm start -- --fresh')
  const holder = createServer().listen(Number(environment.KAFKA_PORT), '127.0.0.1')
  onTestFinished(() => void holder.close())
  await once(holder, 'listening')
  const taken = /Port \d+ of 127\.0\.0\.1, for Kafka, is in use.*set KAFKA_PORT.*npm start -- --port \d+/
  expect(await refusalOf(localDir, environment)).toMatch(taken)
})

async function refusalOf(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const { launcher, log } = await launch(localDir, env, ...args)
  expect(await launcher.exited).toEqual({ code: 1, signal: null })
  return log()
}

function killBroker({ pids, dockerProject }: Run): void {
  if (dockerProject === undefined) process.kill(pids.kafka as number, 'SIGKILL')
  else execFileSync('docker', ['kill', ...containersOf(dockerProject, 'kafka')])
}

function containersOf(project: string, service?: string): string[] {
  const labels = [`project=${project}`, ...(service === undefined ? [] : [`service=${service}`])]
  const filters = labels.flatMap((label) => ['--filter', `label=com.docker.compose.${label}`])
  const ids = execFileSync('docker', ['ps', '--all', '--quiet', ...filters], { encoding: 'utf8' })
  return ids.split('\n').filter(Boolean)
}

function expectNothingLeft(localDir: string, { pids, dockerProject }: Run): void {
  expect(alive(Object.values(pids))).toEqual([])
  if (dockerProject !== undefined) expect(containersOf(dockerProject)).toEqual([])
  expect(existsSync(join(localDir, 'run.json'))).toBe(false)
}
