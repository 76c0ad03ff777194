import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { argumentsOf } from '../local/launch/service.ts'

const PLANTCTL = new URL('../plantctl/src/main.ts', import.meta.url).pathname

/** Sends a signal to its process as soon as that loads a package. */
const HOOK = `
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      if (url.includes('/node_modules/')) process.kill(process.pid, process.env.SIGNAL)
      return next(url, context)
    },
  })
`

// Stores that do not respond: the process waits for them when it has loaded all.
const SETTINGS = {
  ...{ KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1', PORT: '0', OPS_PORT: '0' },
  PLANT_STORE_TOKEN_DIGESTS: `tests:${'0'.repeat(64)}`,
}

it.each([
  ['the api', 'SIGINT', argumentsOf('api'), 0],
  ['the projector', 'SIGTERM', argumentsOf('projector'), 0],
  ['plantctl', 'SIGTERM', [PLANTCTL, 'status'], 130],
] as const)('%s ends in order at a %s while it loads its first package', (_name, signal, program, status) => {
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`
  const ended = spawnSync(process.execPath, ['--import', hook, ...program], {
    env: { ...process.env, ...SETTINGS, SIGNAL: signal },
  })
  expect(ended).toMatchObject({ status, signal: null })
})
