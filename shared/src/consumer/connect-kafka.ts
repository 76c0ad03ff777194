import { createKafka, type Kafka, type KafkaLog, type Security } from '../event-log/connection.ts'
import type { Log } from '../runtime/log.ts'
import { retry } from '../runtime/retry.ts'
import { abortable, systemTime } from '../runtime/time.ts'
import { consumerErrorOf } from './plant-consumer-error.ts'

/** Unless an option says otherwise. */
export const CONNECT_WITHIN_MS = 15_000
const CONNECT_RETRY = { everyMs: 250, longestMs: 2_000 }
/** The time for an attempt that is under way at the limit. While Kafka hangs, one takes 14 s. */
const LAST_ATTEMPT_MS = 5_000

type ConnectOptions = Security & {
  brokers: readonly string[]
  clientId: string
  log: Log
  connectWithinMs: number
  signal?: AbortSignal | undefined
}

/**
 * Creates a client and repeats a first request until Kafka replies. Until then it logs one warning: kafkajs has several
 * for each attempt, which are debug messages here. Throws a PlantConsumerError, or with the reason of `signal`.
 */
export async function connectKafka<T>(options: ConnectOptions, request: (kafka: Kafka) => Promise<T>) {
  const { brokers, clientId, log, connectWithinMs, signal } = options
  let hasReplied = false
  let failure: unknown
  const tooLate = new AbortController()
  const cancel = systemTime.after(connectWithinMs + LAST_ATTEMPT_MS, () =>
    tooLate.abort(failure ?? new Error('no response')),
  )
  const ended = AbortSignal.any([tooLate.signal, ...(signal === undefined ? [] : [signal])])
  const kafkaLog: KafkaLog = {
    debug: (details, message) => log.debug(details, message),
    warn: (details, message) => log[hasReplied ? 'warn' : 'debug'](details, message),
  }
  const kafka = createKafka(brokers, clientId, kafkaLog, options)
  function onFailure(err: unknown): void {
    if (failure === undefined)
      log.warn({ err }, `Kafka does not reply at ${brokers.join(', ')}: trying for ${connectWithinMs} ms`)
    failure = err
  }
  try {
    const limits = { ...CONNECT_RETRY, giveUpAfterMs: connectWithinMs, signal: ended, onFailure }
    const replied = retry(() => request(kafka), limits)
    const reply = await abortable(replied, ended)
    hasReplied = true
    return { kafka, reply }
  } catch (error) {
    throw consumerErrorOf(error, 'kafka-unreachable')
  } finally {
    cancel()
  }
}
