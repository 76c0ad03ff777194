import { join } from 'node:path'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { sideBySide } from '../processes/side-by-side.ts'
import { step } from './progress.ts'
import { startService, untilServiceReady } from './service.ts'
import { type Service, servicesOf, urlsOf } from './settings.ts'
import { environmentFor, type Launch, type Stores, startStores } from './stores.ts'

const SETUP_TIMEOUT_MS = 60_000

/**
 * Starts everything, from an empty machine to ready services. On a failure it ends what is half started; the caller
 * stops what was handed to `keep`. Throws a Failure.
 */
export async function bringUp(launch: Launch, signal: AbortSignal): Promise<Stores> {
  const { settings, token } = launch
  const stores = await startStores(launch, signal)

  async function setUp(script: string): Promise<void> {
    const options = { cwd: root, env: environmentFor(stores, settings, 'setup'), timeoutMs: SETUP_TIMEOUT_MS, signal }
    const { code, output } = await runCommand(process.execPath, [join('local', script)], options)
    if (code !== 0) throw new Failure(`Topic ${settings.topic} cannot be used:\n${endOf(output)}`)
  }
  async function bringUpService(service: Service, signal: AbortSignal): Promise<void> {
    const { name } = service
    const start = () => startService(service, { settings, token, stores })
    await step(`Service ${name}`, async () => {
      const running = await start()
      await untilServiceReady(running, String(urlsOf(settings).opsUrls[name]), signal)
      launch.keep(running, start)
    })
  }

  if (settings.cluster) await step('Rights in Kafka', () => setUp('grant-rights.ts'))
  await step(`Topic ${settings.topic}`, () => setUp('create-topic.ts'))
  const services = servicesOf(settings)
  await sideBySide(signal, ...services.map((service) => (signal: AbortSignal) => bringUpService(service, signal)))
  return stores
}
