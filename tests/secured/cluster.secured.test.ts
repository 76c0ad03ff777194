import { expect, it, vi } from 'vitest'
import { readRun } from '../../local/launch/run-file.ts'
import { startPatientCreates } from '../support/endless-creates.ts'
import { alive, killAlive, npmStart, prepareStart, stopStart } from '../support/npm-start.ts'
import { startPlantctl } from '../support/plantctl.ts'

/** The start takes up to 280 s. Seven processes take up to 50 s each; one may hang. */
const LIMIT_MS = 1_200_000
/** For a restart that hangs: under load on two cores a broker takes up to 50 s. */
const RESTART = { timeout: 180_000, interval: 100 }
/** Redis does not end by SIGTERM while it writes its first append-only file. A supervisor then sends SIGKILL. */
const GRACE_MS = 30_000
const SOME_CREATES = 100

it(
  'npm start -- --cluster: no create fails while a broker and the Redis master are killed, and then one process of each kind is restarted',
  async () => {
    const { localDir, environment } = await prepareStart()
    const { urls, opsUrls, launcher } = await npmStart(localDir, environment, '--cluster')
    const plantctl = (command: string) => startPlantctl([command], environment).ended
    const pids = () => readRun(localDir)?.pids ?? {}
    async function expectNoProblems(): Promise<void> {
      await vi.waitFor(async () => {
        expect(await plantctl('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No problems/) })
        for (const url of Object.values(opsUrls)) expect((await fetch(`${url}/readyz`)).status).toBe(200)
      }, RESTART)
    }
    await expectNoProblems()
    const load = startPatientCreates(...urls)
    await load.untilMore(SOME_CREATES)
    const { launcher: _, ...others } = pids()
    const ends: [name: string, signal: NodeJS.Signals][] = [
      ['kafka-1', 'SIGKILL'],
      ['redis-1', 'SIGKILL'],
      ...lastOfEachKind(Object.keys(others)).map((name): [string, NodeJS.Signals] => [name, 'SIGTERM']),
    ]
    for (const [name, signal] of ends) {
      const pid = pids()[name] as number
      process.kill(pid, signal)
      const killing = name.startsWith('redis') ? setTimeout(killAlive, GRACE_MS, [pid]) : undefined
      await load.untilMore(SOME_CREATES)
      // The next one is known when it is ready. Brokers must have all records before the next broker ends.
      await vi.waitFor(() => expect(pids()[name], name).not.toBe(pid), RESTART)
      clearTimeout(killing)
      if (name.startsWith('kafka')) await expectNoProblems()
    }
    await load.untilMore(SOME_CREATES)
    await expectNoProblems()
    const creates = await load.stop()
    expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
    expect(await plantctl('verify')).toMatchObject({ code: 0 })

    const last = Object.values(pids())
    await stopStart(launcher)
    expect(alive(last)).toEqual([])
  },
  LIMIT_MS,
)

/** The last one of each kind of names that end with a number. */
const lastOfEachKind = (names: readonly string[]) => [
  ...new Map(names.map((name) => [name.split('-')[0], name])).values(),
]
