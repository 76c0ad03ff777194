import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectRedis } from '@plant-store/shared/read-model/redis.ts'
import { REDIS_SETTINGS } from '@plant-store/shared/read-model/redis-settings.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { Type } from 'typebox'
import { expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../local/processes/port.ts'
import { tlsAt } from '../../local/stores/redis-sentinels.ts'
import { createPlant } from '../support/client.ts'
import { documentedRights } from '../support/documented-rights.ts'
import { type RunningService, startPlantStore } from '../support/plant-store.ts'
import { outputOf, runPlantctl } from '../support/plantctl.ts'
import { quietLog } from '../support/quiet-log.ts'
import { untilNotReady, untilReady } from '../support/readiness.ts'
import { issueCertificate, openClient, startRedisProcess, tlsSettings } from '../support/redis-processes.ts'
import { SECRET_MARK } from '../support/secrets.ts'
import { startLoadedStore } from '../support/steady-load.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const [FIRST_PASSWORD, SECOND_PASSWORD] = [`first-${SECRET_MARK}`, `second-${SECRET_MARK}`]
const RECOVERED = { timeout: 20_000, interval: 200 }
const COMMANDS = ['status', 'verify', 'rebuild', 'export --from-redis', 'parked list', 'parked reapply', 'events']

/** A Redis that requires TLS, a certificate, and the login of a user that has exactly the documented rights. */
async function startSecuredRedis() {
  const [tls, tlsPort] = [issueCertificate(), await freePort()]
  const redis = await startRedisProcess(tlsAt(tlsPort, tls))
  const admin = openClient(redis)
  const setUser = (...rules: string[]) => admin.call('ACL', 'SETUSER', 'plants', ...rules)
  await setUser('on', `>${FIRST_PASSWORD}`, ...documentedRights().server)
  // The URL says that it is TLS.
  const { REDIS_TLS: _, ...files } = tlsSettings(tls)
  const passwordFile = join(temporaryFolder(), 'password')
  writeFileSync(passwordFile, `${FIRST_PASSWORD}\n`)
  return {
    admin,
    setUser,
    writePassword: (password: string) => writeFileSync(passwordFile, password),
    settings: {
      REDIS_URL: `rediss://localhost:${tlsPort}`,
      REDIS_USERNAME: 'plants',
      REDIS_PASSWORD_FILE: passwordFile,
      ...files,
    },
  }
}

it('api, projector and plantctl need TLS, a certificate, a login and the documented rights, each of them', async () => {
  const { admin, settings } = await startSecuredRedis()
  const { store, expectNoHarm } = await startLoadedStore({ redis: settings })
  for (const command of COMMANDS) await outputOf(runPlantctl(command.split(' '), store.environment))
  await expectNoHarm()
  const log = (await admin.call('ACL', 'LOG')) as string[][]
  const refused = log.map((entry) => entry[entry.indexOf('object') + 1] ?? '')
  // Nothing depends on the name of a connection.
  expect(refused.filter((object) => !/^client\b/.test(object))).toEqual([])

  const stats = await admin.info('commandstats')
  const rights = documentedRights().server.flatMap((rule) => /^\+(\w+)/.exec(rule)?.[1] ?? [])
  // Only a parked record that becomes readable needs it.
  const unused = rights.filter((right) => !new RegExp(`^cmdstat_${right}\\b`, 'm').test(stats))
  expect(unused).toEqual([])
})

it('a database that cannot be selected is not replaced by another one', async () => {
  const { setUser, settings } = await startSecuredRedis()
  for (const [database, reason] of [
    [3, /give the user \+select;/],
    [99, /correct the number in REDIS_URL/],
  ] as const) {
    const environment = { ...settings, REDIS_URL: `${settings.REDIS_URL}/${database}` }
    const connection = connectRedis(readSettings(Type.Object(REDIS_SETTINGS), environment), quietLog)
    onTestFinished(connection.close)
    const [ready, reconnecting] = [vi.fn(), vi.fn()]
    connection.redis.on('ready', ready).on('reconnecting', reconnecting)
    await vi.waitFor(() => expect(reconnecting.mock.calls.length).toBeGreaterThan(2), RECOVERED)
    expect(ready).not.toHaveBeenCalled()
    expect(connection.problems().join()).toMatch(reason)
    await setUser('+select')
  }
})

it('what Redis refuses is named, and its correction counts without a restart', async () => {
  const { admin, setUser, writePassword, settings } = await startSecuredRedis()
  const { store, api, projector } = await startPlantStore({ redis: settings })
  const services = [api, projector]

  // A right that the live page alone needs: the services stay ready.
  await setUser('-scan')
  const problem = /^the read model cannot be read: Redis refuses a call: give the user \+scan;.*NOPERM/
  const refused = { well: false, problems: [expect.stringMatching(problem)], totals: { offsets: 0 } }
  for (const service of services) {
    await vi.waitFor(async () => expect(await liveStatus(service)).toMatchObject({ value: refused }), RECOVERED)
    expect((await fetch(`${service.opsUrl}/readyz`)).status).toBe(200)
  }
  await setUser('+scan')
  for (const service of services)
    await vi.waitFor(async () => expect(await liveStatus(service)).toMatchObject({ value: { well: true } }), RECOVERED)

  await setUser('resetpass', `>${SECOND_PASSWORD}`)
  await admin.call('CLIENT', 'KILL', 'USER', 'plants')
  for (const service of services) {
    await untilNotReady(service, /^redis: Redis refuses the login: correct REDIS_USERNAME or REDIS_PASSWORD_FILE/m)
    expect(readFileSync(service.logFile, 'utf8')).toMatch(/correct REDIS_USERNAME or REDIS_PASSWORD_FILE/)
  }
  expect(await runPlantctl(['status'], store.environment)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/correct REDIS_USERNAME or REDIS_PASSWORD_FILE/),
  })
  writePassword(SECOND_PASSWORD)
  await untilReady(...services)
  let id = 0n
  expect((await createPlant(api.url, id++, 'Monstera')).response?.status).toBe(200)

  for (const [right, refused] of [
    ['hmget', services],
    ['info', services],
    ['hincrby', [projector]],
    ['rpush', [projector]],
  ] as const) {
    await setUser(`-${right}`)
    // The projector uses some rights only to apply a plant.
    void createPlant(api.url, id++, 'Monstera')
    const reason = new RegExp(`^redis: Redis refuses a call: give the user (\\+${right}|all rights)`, 'm')
    for (const service of refused) await untilNotReady(service, reason)
    await setUser(`+${right}`)
    await untilReady(...services)
  }
  // No call was executed in part.
  await outputOf(runPlantctl(['verify'], store.environment))
})

async function liveStatus({ opsUrl }: RunningService) {
  return ((await (await fetch(`${opsUrl}/live`)).json()) as { status: { value?: object } }).status
}
