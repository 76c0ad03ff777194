import { type Run, readRun, settingsOf } from './launch/run-file.ts'
import { argumentsOf } from './launch/service.ts'
import { localDirOf, namesRedis, type ServiceKind } from './launch/settings.ts'
import { digestOf } from './launch/token.ts'
import { root } from './places.mjs'
import { Failure, runProgram } from './processes/failure.mjs'
import { runForeground } from './processes/foreground.mjs'

const HELP = `Runs one service in the foreground, with JSON logs on stdout:

  npm run start:api
  npm run start:projector

KAFKA_BROKERS and REDIS_URL are the addresses of the stores; when not set, those of a running npm start are
used, with its topic. The api accepts the tokens of PLANT_STORE_TOKEN_DIGESTS (label:sha256-hex,…) or
PLANT_STORE_TOKEN_DIGESTS_FILE, else the one of PLANT_STORE_TOKEN, else the one of the running npm start. It also
accepts the JWTs of JWT_ISSUER, alone or in addition.

Next to a running npm start, set other ports: PORT and OPS_PORT for an api, OPS_PORT for a projector.
All settings are in docs/reference/settings.md.
`

await runProgram(main, HELP)

/** Resolves to the exit code. */
async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args
  if ((name !== 'api' && name !== 'projector') || rest.length > 0)
    throw new Failure(`Unknown service "${args.join(' ')}": use npm run start:api or npm run start:projector.`)
  return runForeground(process.execPath, argumentsOf(name), { cwd: root, env: environmentOf(name) })
}

function environmentOf(name: ServiceKind): NodeJS.ProcessEnv {
  const run = readRun(localDirOf(process.env))
  const { PLANT_STORE_TOKEN, ...own } = process.env
  const env: NodeJS.ProcessEnv = { ...(run && settingsBeside(run, name, own)), ...own }
  if (!env.KAFKA_BROKERS || !namesRedis(env))
    throw new Failure('No Kafka and Redis: set KAFKA_BROKERS and REDIS_URL, or run npm start first to use its stores.')
  if (name === 'projector' || env.PLANT_STORE_TOKEN_DIGESTS || env.PLANT_STORE_TOKEN_DIGESTS_FILE) return env
  const token = PLANT_STORE_TOKEN || run?.token
  if (token) return { ...env, PLANT_STORE_TOKEN_DIGESTS: digestOf(token) }
  if (env.JWT_ISSUER) return env
  throw new Failure('The api has no token to accept: set PLANT_STORE_TOKEN or PLANT_STORE_TOKEN_DIGESTS.')
}

/** The store of a running npm start, of which the environment may name another Kafka or another Redis. */
function settingsBeside(run: Run, name: ServiceKind, own: NodeJS.ProcessEnv) {
  const isOther = (setting: string) =>
    (setting.startsWith('KAFKA_') && own.KAFKA_BROKERS) || (setting.startsWith('REDIS_') && namesRedis(own))
  return Object.fromEntries(Object.entries(settingsOf(run, name)).filter(([setting]) => !isOther(setting)))
}
