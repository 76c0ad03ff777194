import { reasonOf, refusalOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { createKafka, type Kafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { securityOf } from '@plant-store/shared/event-log/kafka-security.ts'
import type { KafkaSettings } from '@plant-store/shared/event-log/kafka-settings.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { TopicSettings } from '@plant-store/shared/event-log/topic-configuration.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { assertFilesRespond } from '@plant-store/shared/runtime/setting-files.ts'
import { abortable } from '@plant-store/shared/runtime/time.ts'
import { createStores, type Stores } from '@plant-store/shared/stores/open-stores.ts'
import { usualTableOf } from '@plant-store/shared/stores/store-settings.ts'
import type { CliContext } from '../cli-context.ts'
import { UsageError } from '../command.ts'
import { readStoreSettings } from './store-settings.ts'

/** The Kafka client retries after each error that it logs; the command reports the outcome. */
const SILENT = createLog('plantctl', 'silent')
const CLIENT_ID = 'plant-store-plantctl'
const GIVE_UP_AFTER_MS = 10_000
const RETRY_MS = 250

export type Store = Stores & { log: Log }

/**
 * Works on the store that the environment selects, else on the store of a running `npm start`. Throws when there is
 * none, when Kafka or Redis does not respond within 10 s, and when a precondition of either does not hold; the message
 * names the remedy. Does not check that the read model was folded from this log: commands that compare the two do.
 */
export function withStore<T>(context: CliContext, work: (store: Store) => Promise<T>): Promise<T> {
  return withUncheckedStore(context, async (store) => {
    await retryForSeconds(async () => {
      await store.readModel.checkServer()
      await checkTopic(store.kafka, store)
    }, store.topic)
    return work(store)
  })
}

/** As `withStore`, without a check of the preconditions: for commands that report them, or use a part of the store. */
export async function withUncheckedStore<T>(context: CliContext, work: (store: Store) => Promise<T>): Promise<T> {
  const { env, printError, stderrIsTerminal, signal } = context
  const { settings, file } = readStoreSettings(env)
  const log = createTerminalLog(printError)
  const stores = await createStores(settings, CLIENT_ID, log, {
    kafkaLog: SILENT,
    // A failover must not end a verification of an hour.
    patienceMs: GIVE_UP_AFTER_MS,
  })
  const { topic, partitions, kafka, readModel } = stores
  const [brokers, redis] = [settings.KAFKA_BROKERS, readModel.address]
  if (stderrIsTerminal) printError(`${topic} (${partitions} partitions) at Kafka ${brokers}, Redis ${redis}\n`)
  try {
    signal.throwIfAborted()
    const responds = Promise.all([
      assertResponds(`Redis at ${redis}`, file, readModel.ready),
      assertResponds(`Kafka at ${brokers}`, file, () => withAdmin(kafka, async () => {})),
    ])
    await abortable(responds, signal)
    return await work({ ...stores, log })
  } finally {
    await stores.close()
  }
}

/** Throws a UsageError when `PLANTS_TABLE` is unset, but there is a table of the usual name: it would be left out. */
export async function assertTableIsNamed({ kafka, topic, table }: Store, env: NodeJS.ProcessEnv): Promise<void> {
  if (table !== undefined || env.PLANTS_TABLE === 'off') return
  const usual = usualTableOf(topic)
  if (await withAdmin(kafka, async (admin) => (await admin.listTopics()).includes(usual)))
    throw new UsageError(
      `topic ${usual} exists: set PLANTS_TABLE=on if it is the table of ${topic}, else PLANTS_TABLE=off`,
    )
}

export type LogOfStore = TopicSettings & { kafka: Kafka; log: Log }

/** Works on the log alone, which Redis is not needed for; otherwise as `withStore`. */
export async function withLog<T>(context: CliContext, work: (log: LogOfStore) => Promise<T>): Promise<T> {
  const { settings, file } = readStoreSettings(context.env)
  await assertFilesRespond(settings as KafkaSettings)
  const kafka = createKafka(settings.KAFKA_BROKERS.split(','), CLIENT_ID, SILENT, securityOf(settings))
  context.signal.throwIfAborted()
  const responds = assertResponds(`Kafka at ${settings.KAFKA_BROKERS}`, file, () => withAdmin(kafka, async () => {}))
  await abortable(responds, context.signal)
  const log = createTerminalLog(context.printError)
  const { PLANTS_TOPIC: topic, PLANTS_PARTITIONS: partitions } = settings
  return withRefusalsOf(topic, () => work({ kafka, log, topic, partitions }))
}

/**
 * Retries for 10 s: some errors pass, for example while a broker does not lead a new partition yet. Throws a
 * PreconditionError at once when Kafka refuses the user.
 */
export function retryForSeconds<T>(request: () => Promise<T>, topic?: string): Promise<T> {
  const attempt = () => withRefusalsOf(topic, request)
  return retry(attempt, { everyMs: RETRY_MS, giveUpAfterMs: GIVE_UP_AFTER_MS })
}

/** An error by which Kafka refuses the user becomes a PreconditionError that names this topic. */
export async function withRefusalsOf<T>(topic: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(error, topic === undefined ? {} : { topic })
    throw refusal === undefined ? error : new PreconditionError(refusal)
  }
}

async function assertResponds(server: string, file: string | undefined, connect: () => Promise<void>): Promise<void> {
  try {
    await retryForSeconds(connect)
  } catch (cause) {
    if (cause instanceof PreconditionError) throw cause
    const reason = reasonOf(cause)
    const from = file === undefined ? '' : ` (from ${file})`
    const namesServer = /^(Kafka|Redis) at /.test(reason)
    throw new Error(namesServer ? `${reason}${from}` : `${server}${from} cannot be used: ${reason}`, { cause })
  }
}

const REMEMBERED_MAX = 100

/** A log for a terminal: warnings and errors as plain text, each printed once. */
export function createTerminalLog(printError: (text: string) => void): Log {
  const printed = new Set<string>()

  function print(first: object | string, message?: string): void {
    const text = typeof first === 'string' ? first : withReason(message ?? '', first)
    if (printed.has(text)) return
    if (printed.size < REMEMBERED_MAX) printed.add(text)
    printError(`! ${text}\n`)
  }

  return { debug() {}, info() {}, warn: print, error: print }
}

function withReason(message: string, { err }: { err?: unknown }): string {
  const reason = err === undefined ? '' : reasonOf(err)
  return message.includes(reason) ? message : `${message}: ${reason}`
}
