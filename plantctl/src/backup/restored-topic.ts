import { isOfType, reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { commitGroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import { createLatchedTopic, isLatched } from '@plant-store/shared/event-log/latch.ts'
import { confirmed, LOG, type LogEnds, readEnds } from '@plant-store/shared/event-log/topic.ts'
import { readConfiguration, setConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { type LogOfStore, retryForSeconds } from '../store/open-store.ts'
import { rawReader } from '../store/read-log.ts'
import type { Progress } from '../terminal/progress.ts'
import type { GroupBackup, Manifest } from './manifest.ts'

const BATCH_BYTES = 512 * 1_024
/** The longest session of a consumer by default, and a little more. */
const SESSION_MAX_MS = 60_000
const COMMIT_EVERY_MS = 1_000

export type ExactWriter = Awaited<ReturnType<typeof openExactWriter>>
export type RestoredTopic = ReturnType<typeof restoredTopic>

export function restoredTopic(log: LogOfStore, manifest: Manifest, signal: AbortSignal) {
  const { kafka, topic } = log
  // What the backup leaves to the defaults of its brokers may be otherwise here, and delete what is restored.
  const configuration = new Map(Object.entries({ ...LOG.required, ...manifest.configuration }))
  return {
    ...{ name: topic, batchBytes: BATCH_BYTES },

    /** Creates the topic with the latch, unless an earlier run has. Throws a PreconditionError for any other topic. */
    async open(): Promise<LogEnds> {
      if (!(await isBegun(log))) {
        const batchBytes = Math.max(BATCH_BYTES, manifest.largestRecordBytes)
        const isNew = await createLatchedTopic(kafka, log, configuration, batchBytes).catch((cause: unknown) => {
          throw isOfType(cause, 'INVALID_CONFIG') ? refusedSettings(manifest) : cause
        })
        if (!isNew) await retryForSeconds(() => assertBegun(log), topic)
      }
      return readBegunEnds(log)
    },

    openWriter: (topicId: LogEnds['topicId']) => openExactWriter(kafka, topic, topicId),

    /** Returns a reader of ranges, byte by byte. */
    reader: (onRead: Progress['onRead']) => rawReader(log, signal, onRead),

    readEnds: async () => (await readBegunEnds(log)).ends,

    commitOffsets: (group: GroupBackup) => commitOffsets(log, group),

    /** Gives the topic its settings, and lifts the latch by it. Another run could not repeat it: there is no latch. */
    release: () => retryForSeconds(() => setConfiguration(kafka, topic, configuration), topic),
  }
}

const refusedSettings = ({ configuration }: Manifest) =>
  new PreconditionError(
    `Kafka refuses a setting of the topic: ${Object.keys(configuration).join(', ')}. Remove what this Kafka does not ` +
      'have (Kafka 4: message.format.version, message.timestamp.difference.max.ms) from "configuration" in manifest.json',
  )

/** The ends of the topic of an earlier run, undefined without one. Throws a PreconditionError for any other topic. */
export const endsOfBegun = async (log: LogOfStore): Promise<LogEnds | undefined> =>
  (await isBegun(log)) ? readBegunEnds(log) : undefined

/** In another number of partitions most records would be in a wrong one. */
function readBegunEnds({ kafka, topic, partitions }: LogOfStore): Promise<LogEnds> {
  const read = async () => {
    const found = await readEnds(kafka, topic)
    if (found.ends.length === partitions) return found
    throw new PreconditionError(
      `topic ${topic} of an interrupted restore has ${found.ends.length} partitions instead of ${partitions}: delete it, ` +
        'and run this again',
    )
  }
  return retryForSeconds(() => confirmed(read), topic)
}

/** Another program may have created the topic without the latch. Brokers learn of a new one a little late. */
async function assertBegun(log: LogOfStore): Promise<void> {
  if (!(await isBegun(log))) throw new Error(`topic ${log.topic} exists, but no broker has it yet: run this again`)
}

/** True for the topic of an earlier run, false without one. Throws a PreconditionError for any other topic. */
async function isBegun({ kafka, topic }: LogOfStore): Promise<boolean> {
  const found = await retryForSeconds(() => readConfiguration(kafka, topic), topic)
  if (found === undefined || isLatched(found)) return found !== undefined
  throw new PreconditionError(
    `topic ${topic} exists: to restore it, stop the services and delete it first; to try a restore, name a new one by --topic`,
  )
}

/** Waits for the sessions of members that ended without leaving their group: Kafka refuses a commit until then. */
async function commitOffsets({ kafka, topic, log }: LogOfStore, { groupId, offsets }: GroupBackup): Promise<void> {
  const textOf = (cause: unknown) =>
    `the offsets of group ${groupId} cannot be committed: ${reasonOf(cause, { topic, groupId })}`
  await retry(() => commitGroupOffsets(kafka, groupId, topic, offsets), {
    ...{ everyMs: COMMIT_EVERY_MS, giveUpAfterMs: SESSION_MAX_MS },
    onFailure: (cause) => log.warn(`${textOf(cause)}: waiting`),
  }).catch((cause: unknown) => {
    throw new PreconditionError(`${textOf(cause)}. End its consumers, then run the restore again, or add --groups none`)
  })
}
