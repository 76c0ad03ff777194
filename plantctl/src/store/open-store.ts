import { createKafka, type Kafka } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { createReadModel, type ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { readSettings, SERVICE_SETTINGS } from '@plant-store/shared/runtime/settings.ts'
import { Type } from 'typebox'
import type { CliContext } from '../command.ts'
import { createToldLog } from '../terminal/terminal-log.ts'
import { runningStart } from './local-store.ts'

const { KAFKA_BROKERS, REDIS_URL, PLANTS_TOPIC, PLANTS_PARTITIONS } = SERVICE_SETTINGS
const StoreSettings = Type.Object({ KAFKA_BROKERS, REDIS_URL, PLANTS_TOPIC, PLANTS_PARTITIONS })

/** What the client of Kafka says of itself it then tries again; what comes of that is told by who uses it. */
const UNTOLD = createLog('plantctl', 'silent')
const GIVE_UP_AFTER_MS = 10_000
const RETRY_MS = 250

/** The log and the read model that a command works on. */
export type Store = TopicSettings & {
  kafka: Kafka
  readModel: ReadModel
  /** Tells warnings on stderr, in plain words. */
  log: Log
  close(): Promise<void>
}

/**
 * Opens the store that the environment names, else that of a running `npm start`. Throws when there is none, when
 * Kafka or Redis does not answer within 10 s, and when one of them is not as it must be; the message says what to do.
 * Whether the read model was folded from this log is left to who compares them.
 */
export async function openStore(context: CliContext): Promise<Store> {
  const store = await connectStore(context)
  const { kafka, readModel, topic, partitions } = store
  try {
    await withinSeconds(async () => {
      await readModel.checkServer()
      await checkTopic(kafka, { topic, partitions })
    })
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** As `openStore`, but only that both answer: to look at what is not as it must be. */
export async function connectStore({ env, tell, isWatched, signal }: CliContext): Promise<Store> {
  const { settings, file } = settingsOf(env)
  const topic = { topic: settings.PLANTS_TOPIC, partitions: settings.PLANTS_PARTITIONS }
  const log = createToldLog(tell)
  const places = { kafka: settings.KAFKA_BROKERS, redis: withoutPassword(settings.REDIS_URL) }
  if (isWatched) {
    tell(`${topic.topic} (${topic.partitions} partitions) at Kafka ${places.kafka}, Redis ${places.redis}\n`)
  }
  const kafka = createKafka(settings.KAFKA_BROKERS.split(','), 'plant-store-plantctl', UNTOLD)
  const readModel = createReadModel({ redisUrl: settings.REDIS_URL, ...topic }, log)
  const from = file === undefined ? '' : ` (${file} names it)`
  try {
    await Promise.race([
      Promise.all([
        untilAnswered(`Redis at ${places.redis}${from}`, readModel.ready),
        untilAnswered(`Kafka at ${places.kafka}${from}`, () => askKafka(kafka)),
      ]),
      rejectionBy(signal),
    ])
  } catch (error) {
    await readModel.close()
    throw error
  }
  return { ...topic, kafka, readModel, log, close: readModel.close }
}

function settingsOf(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  if (given.KAFKA_BROKERS && given.REDIS_URL) return { settings: readSettings(StoreSettings, given) }
  const running = runningStart(process.cwd(), given.PLANT_STORE_LOCAL_DIR)
  if (running === undefined && !given.KAFKA_BROKERS && !given.REDIS_URL) {
    throw new PreconditionError(
      'Which store? Set KAFKA_BROKERS and REDIS_URL (and PLANTS_TOPIC and PLANTS_PARTITIONS where they are not plants ' +
        'and 12), or run npm start: its own is looked at then.',
    )
  }
  // Never the log of one store and the read model of another.
  const { KAFKA_BROKERS, REDIS_URL } = running?.settings ?? {}
  const fits =
    [KAFKA_BROKERS, undefined].includes(given.KAFKA_BROKERS) &&
    [REDIS_URL, undefined].includes(given.REDIS_URL)
  if (running === undefined || !fits) return { settings: readSettings(StoreSettings, given) }
  return { settings: readSettings(StoreSettings, { ...running.settings, ...given }), file: running.file }
}

function withoutPassword(text: string): string {
  const url = URL.parse(text)
  return url === null ? 'REDIS_URL' : `${url.protocol}//${url.host}${url.pathname}`
}

async function askKafka(kafka: Kafka): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  await admin.disconnect()
}

/** Tries for 10 s what a moment may help, such as a broker that does not lead a new partition yet. */
export function withinSeconds<T>(ask: () => Promise<T>): Promise<T> {
  return retry(ask, { everyMs: RETRY_MS, giveUpAfterMs: GIVE_UP_AFTER_MS })
}

async function untilAnswered(what: string, ask: () => Promise<void>): Promise<void> {
  try {
    await withinSeconds(ask)
  } catch (cause) {
    throw new Error(
      `${what} does not answer: ${(cause as Error).message}. Does it run, and is the address right?`,
      {
        cause,
      },
    )
  }
}

function rejectionBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
