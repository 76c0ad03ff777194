import { join, relative } from 'node:path'
import { exampleBody, PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import { root } from '../places.mjs'
import { type Settings, urlsOf } from './settings.ts'

export const help = `Plant Store on this machine: a real Kafka and Redis, the topic, and both services.

  npm start                   starts everything; Ctrl-C stops everything
  npm start -- --with SOURCE  where Kafka and Redis come from: docker, processes, or external (KAFKA_BROKERS and
                              REDIS_URL). Default: external if both are set, else docker if it is available,
                              else processes. Each has its own data.
  npm start -- --cluster      three Kafka brokers with TLS, passwords and ACLs, a Redis with two replicas and three
                              sentinels, two apis and two projectors, as processes; takes about 3 GB of memory
  npm start -- --port PORT    moves all ports, for a second clone: the api's to PORT, the others as far
  npm start -- --fresh        first deletes all plants stored here (the token stays)
  npm run start:api           one more api, or the only one; needs KAFKA_BROKERS and REDIS_URL,
  npm run start:projector     or a running npm start. Each has a --help.
  npm test                    the tests, on stores of their own
  npm run check               types, lint, format, dead code

Missing programs are installed into node_modules and .local. Without Docker, Java 17 or newer and Maven are required.

Settings, from the environment:
  PORT                   3000        the api
  HOST                   127.0.0.1   address both services listen on
  OPS_PORT               3100        operations port of the api; those of the other services are the next ones
  KAFKA_PORT             19092       Kafka on 127.0.0.1; its controller and the brokers of a cluster use the next ones
  REDIS_PORT             16379       Redis on 127.0.0.1; the other servers and the sentinels of a cluster likewise
  PLANT_STORE_TOKEN      generated   bearer token of the api
  PLANTS_TOPIC           plants      topic; created if missing
  PLANTS_PARTITIONS      12          its partitions, fixed at its creation
  PLANTS_TABLE           on          the table of all plants: a topic, by default plants.table; or off
  KAFKA_BROKERS          -           host:port,… of an existing Kafka; default: one is started
  KAFKA_SECURITY_…       -           its TLS and login: docs/how-to/connect-secured-stores.md
  REDIS_URL              -           redis://… of an existing Redis; default: one is started
  PLANT_STORE_LOCAL_DIR  .local      folder of the files below

Files, in that folder:
  data/          the data of Kafka and Redis as processes, which stay from one start to the next; in Docker
                 the data are in volumes
  logs/          api.log projector.log kafka.log redis.log, and of the previous start *.log.1
  token          the generated token
  run.json       addresses, token and pids, for programs; only while everything runs
`

/** `dockerProject` is that of Kafka and Redis. */
export function welcome(settings: Settings, token: string, dockerProject: string | undefined): string {
  const { url, opsUrls } = urlsOf(settings)
  const plant = exampleBody(PLANT_EXAMPLES.full)
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

Every operation, to see and try: ${url}/docs
Live page: ${Object.values(opsUrls)[0]}
Logs: ${logs}${inDocker}   Stop: Ctrl-C   More: npm start -- --help
`
}
