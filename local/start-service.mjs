import { readRun } from './launch/run-file.mjs'
import { argumentsOf } from './launch/service.mjs'
import { localDirOf, namesRedis } from './launch/settings.mjs'
import { digestOf } from './launch/token.mjs'
import { root } from './places.mjs'
import { runForeground } from './processes/command.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { prepare } from './toolchain/prepare.mjs'

const help = `Runs one service in the foreground, with JSON logs on stdout:

  npm run start:api
  npm run start:projector

KAFKA_BROKERS and REDIS_URL are the addresses of the stores; when not set, those of a running npm start are
used, with its topic. The api accepts the tokens of PLANT_STORE_TOKEN_DIGESTS (label:sha256-hex,…) or
PLANT_STORE_TOKEN_DIGESTS_FILE, else the one of PLANT_STORE_TOKEN, else the one of the running npm start. It also
accepts the JWTs of JWT_ISSUER, alone or in addition.

Next to a running npm start, set other ports: PORT and OPS_PORT for an api, OPS_PORT for a projector.
All settings are in docs/reference/settings.md.
`

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(describe(error))
  return 1
})

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
async function main(args) {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help)
    return 0
  }
  const [name, ...rest] = args
  if ((name !== 'api' && name !== 'projector') || rest.length > 0) {
    throw new Failure(`Unknown service "${args.join(' ')}": use npm run start:api or npm run start:projector.`)
  }
  const env = environmentOf(name)
  const node = await prepare({ dev: false })
  return runForeground(node, argumentsOf(name), { cwd: root, env })
}

/**
 * @param {import('./launch/settings.mjs').ServiceKind} name
 * @returns {NodeJS.ProcessEnv}
 */
function environmentOf(name) {
  const run = readRun(localDirOf(process.env))
  const { PLANT_STORE_TOKEN, ...own } = process.env
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...(run && settingsOfRun(run, own)), ...own }
  const { PLANT_STORE_TOKEN_DIGESTS, PLANT_STORE_TOKEN_DIGESTS_FILE } = env
  if (!env.KAFKA_BROKERS || !namesRedis(env)) {
    throw new Failure('No Kafka and Redis: set KAFKA_BROKERS and REDIS_URL, or run npm start first to use its stores.')
  }
  if (name === 'projector' || PLANT_STORE_TOKEN_DIGESTS || PLANT_STORE_TOKEN_DIGESTS_FILE) return env
  const token = PLANT_STORE_TOKEN || run?.token
  if (!token && env.JWT_ISSUER) return env
  if (!token) throw new Failure('The api has no token to accept: set PLANT_STORE_TOKEN or PLANT_STORE_TOKEN_DIGESTS.')
  return { ...env, PLANT_STORE_TOKEN_DIGESTS: digestOf(token) }
}

/**
 * The store of a running npm start, of which the environment may name another Kafka or another Redis.
 *
 * @param {import('./launch/run-file.mjs').Run} run
 * @param {NodeJS.ProcessEnv} own
 * @returns {NodeJS.ProcessEnv}
 */
function settingsOfRun({ kafkaBrokers, redisUrl, storeSettings, topic, partitions, table }, own) {
  const settings = Object.entries({ KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl, ...storeSettings })
  const isOther = (/** @type {string} */ name) => (name.startsWith('KAFKA_') ? own.KAFKA_BROKERS : namesRedis(own))
  return {
    ...Object.fromEntries(settings.filter(([name]) => !isOther(name))),
    PLANTS_TOPIC: topic,
    PLANTS_PARTITIONS: String(partitions),
    PLANTS_TABLE: table,
  }
}
