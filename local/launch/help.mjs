import { join, relative } from 'node:path'
import { root } from '../places.mjs'
import { urlsOf } from './settings.mjs'

export const help = `Plant Store on this machine: a real Kafka and Redis, the topic, and both services.

  npm start                   starts all of it; Ctrl-C ends all of it
  npm start -- --with docker  Kafka and Redis come from Docker, from processes, or are external ones, that
              processes       is, those of KAFKA_BROKERS and REDIS_URL. When not said: external if both are
              external        set, else Docker if it answers, else processes. Each has data of its own.
  npm start -- --fresh        forgets the plants stored here first, all of them (the token is kept)
  npm run start:api           one api more, or the only one; needs KAFKA_BROKERS and REDIS_URL,
  npm run start:projector     or a running npm start. Each has its --help.
  npm test                    every test, on stores of its own
  npm run check               types, lint, format, dead code

What is missing is installed into node_modules and .local. Without Docker, Java 17 or newer and Maven are needed.

Settings, from the environment:
  PORT                   3000        the api
  HOST                   127.0.0.1   address both services listen on
  OPS_PORT               3100        operations port of the api; the projector's is the next one
  PLANT_STORE_TOKEN      made once   bearer token of the api
  PLANTS_TOPIC           plants      topic; made when missing
  PLANTS_PARTITIONS      12          its partitions, fixed when it is made
  KAFKA_BROKERS          -           host:port,… of a Kafka of yours; without it one is started
  REDIS_URL              -           redis://… of a Redis of yours; without it one is started
  PLANT_STORE_LOCAL_DIR  .local      folder of the files below

Files, in that folder:
  data/          what Kafka and Redis store as processes, kept from one start to the next; what they store
                 in Docker is in volumes
  logs/          api.log projector.log kafka.log redis.log, and of the start before *.log.1
  token          the token that was made
  run.json       addresses, token and pids, for programs; only while all is running
`

/**
 * @param {import('./settings.mjs').Settings} settings
 * @param {string} token
 * @param {string | undefined} dockerProject of Kafka and Redis
 */
export function welcome(settings, token, dockerProject) {
  const { url } = urlsOf(settings)
  const plant = '{"id":1,"name":"Monstera deliciosa","tag":"indoor"}'
  const logDir = join(settings.localDir, 'logs')
  const logs = logDir.startsWith(root) ? relative(root, logDir) : logDir
  const inDocker = dockerProject ? ` and docker compose -p ${dockerProject} logs` : ''
  const auth = `-H 'authorization: Bearer ${token}'`
  return `
Plant Store is ready at ${url}
  token  ${token}

Create a plant:
  curl -i ${url}/plants ${auth} -H 'content-type: application/json' -d '${plant}'
Read it:
  curl -i ${url}/plants/1 ${auth}

Logs: ${logs}${inDocker}   Stop: Ctrl-C   More: npm start -- --help
`
}
