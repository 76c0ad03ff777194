import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { type Run, writeRun } from '../local/launch/run-file.ts'
import { backupCheck } from '../plantctl/src/commands/backup-check.ts'
import { failing, startPlantctl } from './support/plantctl.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { processEnvironment } from './support/test-run.ts'
import { createTestTopic } from './support/topic.ts'

it('plantctl names the help of a command that it refuses, and prints a help without dashes, too', async () => {
  const stderr = expect.stringMatching(/^--label is missing: .*\nSee plantctl token create --help\n$/)
  const plantctl = (...args: string[]) => startPlantctl(args, processEnvironment).ended
  expect(await plantctl('token', 'create')).toEqual({ code: 2, stdout: '', stderr })
  expect(await plantctl('help', 'backup', 'check')).toEqual({ code: 0, stdout: backupCheck.help, stderr: '' })
})

const nowhere = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://:secret@127.0.0.1:1' }
const statusOf = (env: NodeJS.ProcessEnv, cwd: string) =>
  startPlantctl(['status', '--json'], { ...processEnvironment, ...env }, { cwd }).ended

/** A folder with the run.json of an npm start on the Kafka and the Redis under test. */
async function folderOfStart(changes: Partial<Run> = {}) {
  const { topic } = await createTestTopic(inject('kafkaBrokers'), 3)
  const folder = temporaryFolder()
  mkdirSync(join(folder, '.local'))
  mkdirSync(join(folder, 'within', 'it'), { recursive: true })
  const stores = { KAFKA_BROKERS: inject('kafkaBrokers'), REDIS_URL: inject('redisUrl') }
  const services = {
    url: '',
    urls: [],
    opsUrls: {},
    storeSettings: { api: {}, projector: {}, plantctl: stores },
    table: 'off',
    dockerProject: undefined,
    token: '',
    pids: { launcher: process.pid },
  }
  writeRun(join(folder, '.local'), { ...services, topic, partitions: 3, ...changes })
  return { folder, topic }
}

it('the store that plantctl uses is that of a running npm start in this folder, in a folder above, or in PLANT_STORE_LOCAL_DIR', async () => {
  const { folder, topic } = await folderOfStart()
  for (const [env, cwd] of [
    [{}, folder],
    [{}, join(folder, 'within', 'it')],
    [{ PLANT_STORE_LOCAL_DIR: join(folder, '.local') }, tmpdir()],
  ] as const) {
    const { stdout, stderr } = await statusOf(env, cwd)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ topic, partitions: [{}, {}, {}] })
  }
})

it('the store must be selected, respond and have its topic; errors name the remedy and no secret', async () => {
  const nothing = await statusOf({}, temporaryFolder())
  expect(nothing).toMatchObject(failing(/^No store selected\. Set KAFKA_BROKERS and REDIS_URL/))
  const away = await statusOf(nowhere, temporaryFolder())
  const unreachable =
    /^(! redis: Redis at \S+ is not reachable: check .*; retrying\n)?(Kafka|Redis) at \S+ is not reachable: .*\n$/
  expect(away).toMatchObject({ ...failing(unreachable), stdout: '' })
  expect(away.stderr).not.toMatch(/secret| {4}at /)
  const { folder } = await folderOfStart({ partitions: 4 })
  // Never the log of one store with the read model of another.
  expect(await statusOf({ KAFKA_BROKERS: '127.0.0.1:1' }, folder)).toMatchObject(failing(/REDIS_URL is missing/))
  const other = await statusOf({}, folder)
  expect(other.code).toBe(3)
  expect(JSON.parse(other.stdout).problems[0]).toMatch(/has 3 partitions, but PLANTS_PARTITIONS is 4/)
})
