import { expect, it } from 'vitest'
import { startCreates } from '../support/endless-creates.ts'
import { alive, npmStart, prepareStart, stopStart } from '../support/npm-start.ts'
import { startPlantctl } from '../support/plantctl.ts'

const LIMIT_MS = 300_000
const SOME_CREATES = 300
/** A create that is in flight while a leader is killed may run out of time. */
const MAY_BE_STORED = 50302

it(
  'npm start -- --cluster: creates continue while a broker and the Redis master are killed',
  async () => {
    const { localDir, environment } = await prepareStart()
    const run = await npmStart(localDir, environment, '--cluster')
    const plantctl = (command: string) => startPlantctl([command], environment).ended
    expect(await plantctl('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No problems/) })

    const load = startCreates(...run.urls)
    for (const name of ['kafka-1', 'redis-1']) {
      await load.untilMore(SOME_CREATES)
      process.kill(run.pids[name] as number, 'SIGKILL')
    }
    await load.untilMore(SOME_CREATES)
    const failed = (await load.stop()).filter(({ response }) => response?.status !== 200)
    for (const { response } of failed) expect(response?.body).toMatchObject({ error: MAY_BE_STORED })
    expect(await plantctl('verify')).toMatchObject({ code: 0 })

    await stopStart(run.launcher)
    expect(alive(Object.values(run.pids))).toEqual([])
  },
  LIMIT_MS,
)
