import { setTimeout as delay } from 'node:timers/promises'
import type { Admin, Kafka, PartitionMetadata } from 'kafkajs'
import type { ExtendedAdmin } from '../kafka-client/kafkajs.ts'
import { FIRST, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { MAX_APPEND_BYTES } from './append.ts'
import { NoLeader, preconditionErrorOf } from './broker-errors.ts'
import { withAdmin } from './connection.ts'
import { isLatched } from './latch.ts'
import type { KnownEnds, TopicId } from './log-identity.ts'
import {
  type Configuration,
  createConfigured,
  describeConfiguration,
  MAX_BATCH,
  PRODUCTION_REPLICAS,
  type TopicSettings,
} from './topic-configuration.ts'

/** As KnownEnds, while each partition has a leader. */
export type LogEnds = { topicId: TopicId | undefined; ends: Offset[] }

/** A partition that readers get up to `from` only, because a transaction of another producer is open; its real end. */
export type OpenTransaction = { partition: Partition; from: Offset; end: Offset }

/** `warnings` name the settings that production should not have, and what an older Kafka does worse. */
export type TopicState<E extends KnownEnds = LogEnds> = E & { warnings: string[]; openTransactions: OpenTransaction[] }

/** The purpose of a topic, and the settings that it requires. */
export type TopicKind = {
  required: Readonly<Record<string, string>>
  /** The effect of other settings. */
  otherwise: string
  /** The remedy when there is no topic; its settings follow. */
  missing: string
  /** The remedy for another number of partitions. */
  repartitioned: string
  /** The loss without the first records, and the remedy. */
  lost: string
}
/** With `uncompressed` every client can read what other producers compress, and its size is limited. */
const [COMPRESSION, UNCOMPRESSED] = ['compression.type', 'uncompressed']
export const RESTORE_RECIPE = 'docs/how-to/back-up-and-restore.md'
/** The log. `lost` is for operators of the service; LOST_CLAIMS is for consumers. */
export const LOG: TopicKind = {
  required: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' },
  otherwise: 'would lose events',
  missing: `if it was deleted, restore it: ${RESTORE_RECIPE}. Else create it`,
  repartitioned:
    'set it to the number the topic was created with. If it was changed later, it cannot be used: ids have moved',
  lost: 'the plants they created. Restore the topic from a copy, or start a new one under another PLANTS_TOPIC',
}
/** The remedy for a table that lacks rows, or was written from another log. */
export const WRITE_TABLE_ANEW =
  'stop the projectors, delete the topic of the table and create it again, or set PLANTS_TABLE to another one: they write ' +
  'it anew'
export const TABLE: TopicKind = {
  required: { 'cleanup.policy': 'compact' },
  otherwise: 'would lose plants or keep repeated ones',
  missing: 'create it',
  repartitioned: WRITE_TABLE_ANEW,
  lost: `some plants: ${WRITE_TABLE_ANEW}`,
}
const LOST_CLAIMS = 'the first claims of ids. Restore the topic from a copy'
const CONFIRM_ATTEMPTS = 4
const CONFIRM_AFTER_MS = 1_000
/** What a Kafka does worse that does not know this version of a request: Produce or Fetch by topic id. */
const OLDER: readonly { apiKey: number; version: number; warning: string }[] = [
  {
    ...{ apiKey: 0, version: 13 },
    warning:
      'Kafka is older than 4.1: no acknowledgement decides a create, so each one waits until its record has been read. ' +
      'Upgrade the brokers',
  },
  {
    ...{ apiKey: 1, version: 13 },
    warning: 'Kafka is older than 3.1: a recreated topic is noticed up to 30 s late. Upgrade the brokers',
  },
]
const PRODUCTION = { 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'false' }

/** Creates the topic with the settings that the protocol needs, as `createConfigured`. */
export async function createTopic(kafka: Kafka, topic: TopicSettings, kind: TopicKind = LOG): Promise<boolean> {
  return createConfigured(kafka, topic, (replicas) => {
    const production = replicas === PRODUCTION_REPLICAS ? PRODUCTION : {}
    return new Map(Object.entries({ ...kind.required, [COMPRESSION]: UNCOMPRESSED, ...production }))
  })
}

/** Throws a PreconditionError for a topic that is not as needed, any other error when Kafka does not respond. */
export async function checkTopic(kafka: Kafka, settings: TopicSettings, kind: TopicKind = LOG): Promise<TopicState> {
  return withAllEnds(await checkLedPartitions(kafka, settings, kind), settings.topic)
}

/** As `checkTopic`, also while partitions have no leader. */
export async function checkLedPartitions(
  kafka: Kafka,
  settings: TopicSettings,
  kind: TopicKind = LOG,
): Promise<TopicState<KnownEnds>> {
  return withAdmin(kafka, async (admin) => {
    // The configuration first: a metadata request for a missing topic could make the broker create it.
    const configuration = await confirmed(() => describeExisting(admin, settings, kind))
    const { topicId, replicas } = await confirmed(() => checkPartitions(admin, settings, kind))
    checkConfiguration(settings.topic, configuration, kind)
    const warnings = [
      ...(kind === LOG ? await olderKafka(admin) : []),
      ...warningsOf(settings.topic, configuration, replicas),
    ]
    // Before the others: a record that is committed in between must not look hidden.
    const written = await admin.fetchWrittenOffsets(settings.topic)
    const ends = await endsOfWholeLog(admin, settings, kind.lost)
    const openTransactions = written.flatMap(({ partition, high }): OpenTransaction[] => {
      const [from, end] = [ends[partition], offsetOf(high)]
      return from !== undefined && from < end ? [{ partition: partition as Partition, from, end }] : []
    })
    return { topicId, ends, unreachable: admin.unreachable(), warnings, openTransactions }
  })
}

export function openTransactionText(topic: string, { partition, from, end }: OpenTransaction): string {
  return (
    `partition ${partition} of ${topic} is read up to offset ${from}, but ends at ${end}: an open transaction of another ` +
    'producer hides its records from there on, and keeps creates waiting. If it does not end, kafka-transactions.sh ' +
    'describe-producers finds its producer, and abort ends it'
  )
}

/**
 * The ends of the log, with fewer rights than `checkTopic` needs: a consumer may not read the topic's configuration.
 * Throws a PreconditionError when the topic is missing or has lost its first events, or when Kafka refuses the user.
 */
export async function readEnds(kafka: Kafka, topic: string, lost = LOST_CLAIMS): Promise<LogEnds> {
  try {
    return withAllEnds(await readKnownEnds(kafka, topic, lost), topic)
  } catch (error) {
    throw preconditionErrorOf(error, { topic })
  }
}

/** As `readEnds`, also while partitions have no leader. */
export async function readKnownEnds(kafka: Kafka, topic: string, lost = LOST_CLAIMS): Promise<KnownEnds> {
  try {
    return await withAdmin(kafka, async (admin) => {
      const { topicId, partitions } = await readTopic(admin, topic)
      const ends = await endsOfWholeLog(admin, { topic, partitions: partitions.length }, lost)
      return { topicId, ends, unreachable: admin.unreachable() }
    })
  } catch (error) {
    throw preconditionErrorOf(error, { topic })
  }
}

/** Throws a NoLeader while a partition has no leader, and the error of a leader that did not respond. */
export function withAllEnds<S extends KnownEnds>(state: S, topic: string): S & LogEnds {
  const partition = state.ends.indexOf(undefined)
  if (partition === -1) return state as S & LogEnds
  throw state.unreachable ?? new NoLeader(`partition ${partition} of ${topic} has no leader`)
}

/** The offset of the first record in each partition at this time (ms since 1970) or later; else its end. */
export async function offsetsAt(kafka: Kafka, topic: string, ms: number): Promise<Offset[]> {
  return withAdmin(kafka, async (admin) => {
    const { topicId, partitions } = await readTopic(admin, topic)
    const ends = Array<Offset | undefined>(partitions.length).fill(undefined)
    for (const { partition, offset } of await admin.fetchTopicOffsetsByTimestamp(topic, ms)) {
      ends[partition] = offsetOf(offset)
    }
    return withAllEnds({ topicId, ends, unreachable: admin.unreachable() }, topic).ends
  })
}

/** A broker learns of a new topic or partition a little late: what is missing must still be after retries. */
export async function confirmed<T>(check: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt < CONFIRM_ATTEMPTS; attempt++) {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof PreconditionError)) throw error
      await delay(CONFIRM_AFTER_MS)
    }
  }
  return check()
}

async function describeExisting(
  admin: Admin,
  { topic, partitions }: TopicSettings,
  { required, missing }: TopicKind,
): Promise<Configuration> {
  const found = await describeConfiguration(admin, topic)
  if (found !== undefined) return found
  const settings = Object.entries(required).map(([name, value]) => `${name}=${value}`)
  throw new PreconditionError(
    `topic ${topic} does not exist: ${missing} with ${partitions} partitions, ${settings.join(', ')}, or let \`npm start\` ` +
      'create it',
    'topic-missing',
  )
}

/** The metadata of a topic. Its id comes with each partition, where kafkajs passes it on. */
async function readTopic(admin: Admin, topic: string) {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const partitions: (PartitionMetadata & { topicId?: TopicId })[] = topics[0]?.partitions ?? []
  return { topicId: partitions[0]?.topicId, partitions }
}

/** Throws a PreconditionError that names the loss when the topic does not start at its first offset any more. */
async function endsOfWholeLog(
  admin: Admin,
  { topic, partitions }: TopicSettings,
  lost: string,
): Promise<(Offset | undefined)[]> {
  const ends = Array<Offset | undefined>(partitions).fill(undefined)
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    if (offsetOf(low) !== FIRST) {
      throw new PreconditionError(
        `partition ${partition} of ${topic} starts at offset ${low}: its first events are gone, and with them ${lost}`,
        'topic-truncated',
      )
    }
    ends[partition] = offsetOf(high)
  }
  return ends
}

async function checkPartitions(admin: Admin, { topic, partitions }: TopicSettings, { repartitioned }: TopicKind) {
  const { topicId, partitions: found } = await readTopic(admin, topic)
  if (found.length !== partitions) {
    throw new PreconditionError(
      `topic ${topic} has ${found.length} partitions, but PLANTS_PARTITIONS is ${partitions}: ${repartitioned}`,
    )
  }
  return { topicId, replicas: Math.min(...found.map(({ replicas }) => replicas.length)) }
}

function checkConfiguration(topic: string, configuration: Configuration, { required, otherwise }: TopicKind): void {
  if (isLatched(configuration)) {
    throw new PreconditionError(
      `topic ${topic} is being restored and may lack records: wait for the end of plantctl restore, or run it again`,
    )
  }
  const wrong = Object.entries(required)
    .filter(([name, value]) => configuration.get(name) !== value)
    .map(([name, value]) => `set ${name} to ${value} (it is ${configuration.get(name)})`)
  if (wrong.length > 0) throw new PreconditionError(`topic ${topic} ${otherwise}: ${wrong.join(', ')}`)
}

async function olderKafka(admin: ExtendedAdmin): Promise<string[]> {
  const warnings: string[] = []
  for (const { apiKey, version, warning } of OLDER)
    if (((await admin.highestVersion(apiKey)) ?? 0) < version) warnings.push(warning)
  return warnings
}

function warningsOf(topic: string, configuration: Configuration, replicas: number): string[] {
  const copies = replicas === 1 ? '1 replica, enough to try things out' : `${replicas} replicas`
  const others = Object.entries(PRODUCTION).filter(([name, wanted]) => configuration.get(name) !== wanted)
  const batchBytes = Number(configuration.get(MAX_BATCH))
  const compression = configuration.get(COMPRESSION) ?? UNCOMPRESSED
  const warnings = [
    replicas < PRODUCTION_REPLICAS &&
      `it was created with ${copies}; use ${PRODUCTION_REPLICAS} in production, where a lost disk must lose nothing`,
    ...others.map(([name, wanted]) => `${name} is ${configuration.get(name)}: set it to ${wanted} in production`),
    batchBytes < 2 * MAX_APPEND_BYTES &&
      `${MAX_BATCH} is ${batchBytes}: under load larger batches are refused; set it to 1048588 or more`,
    compression !== UNCOMPRESSED &&
      `${COMPRESSION} is ${compression}: a batch that has more than 64 MiB when it is decompressed would stop the readers of ` +
        `its partition; set it to ${UNCOMPRESSED}`,
  ]
  return warnings.filter((warning) => warning !== false).map((warning) => `topic ${topic}: ${warning}`)
}
