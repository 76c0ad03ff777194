import { reasonOf } from '../event-log/broker-errors.ts'
import type { Kafka } from '../event-log/connection.ts'
import { type Readers, readReaders } from '../event-log/groups.ts'
import { checkTopic, RESTORE_RECIPE } from '../event-log/topic.ts'
import type { TopicSettings } from '../event-log/topic-configuration.ts'
import { EntryError } from '../plant/entry.ts'
import { allPartitions, type Partition } from '../plant/position.ts'
import type { PartitionGenerations } from '../read-model/generations.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { generationState } from '../read-model/state.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { TableStatus } from './read-table.ts'

export type StoreStatus = Awaited<ReturnType<typeof readStatus>>
export type PartitionStatus = StoreStatus['partitions'][number]

export type StatusSource = TopicSettings & {
  kafka: Kafka
  readModel: Pick<ReadModel, 'checkServer' | 'generations'>
  readTable?(): Promise<TableStatus>
}

/** `refused`: the reason why they are not known, with the remedy. */
type KnownReaders = Readers & { refused?: string }

const NO_READERS: Readers = {
  ...{ projectorState: '', undecodable: [] },
  ...{ projectors: [], apis: [], replays: [], rebuilds: [] },
}

/**
 * Reads the state of read model, table, log and readers, once each, in this order. A part that cannot be read is among
 * what is broken, and the others are as they are. `attempt` makes each request, and may retry it.
 */
export async function readStatus(
  { kafka, readModel, topic, partitions, readTable }: StatusSource,
  attempt: <T>(request: () => Promise<T>) => Promise<T> = (request) => request(),
) {
  const { generations } = readModel
  const server = await readPart('Redis', readModel.checkServer)
  const listed = await readPart('the read model', generations.list)
  const found = await Promise.all(
    (listed.found?.partitions ?? []).map((one) =>
      readPart(`partition ${one.partition} of the read model`, () => readPartition(one)),
    ),
  )
  // The ends last: in another order a checkpoint, or a row of the table, could appear to be beyond the end.
  const table = await readPart('the table', async () => readTable?.())
  const [log, readers] = await Promise.all([
    readPart('the log', () => checkTopic(kafka, { topic, partitions }).catch(assertNeverFolded)),
    attempt<KnownReaders>(() => readReaders(kafka, topic)).catch((error: unknown) => ({
      ...NO_READERS,
      refused: reasonOf(error),
    })),
  ])
  return {
    topic,
    readers,
    /** Settings that are not recommended for production. */
    warnings: log.found?.warnings ?? [],
    openTransactions: log.found?.openTransactions ?? [],
    partitions: allPartitions(partitions).map((partition) => ({
      ...(found[partition]?.found ?? unreadable(partition)),
      /** The next offset of the log; undefined while the log cannot be read. */
      end: log.found?.ends[partition],
    })),
    /** Undefined without a table, or while it cannot be read. */
    table: table.found,
    /** Preconditions that do not hold, and parts that cannot be read, with their remedies. */
    broken: [server, listed, ...found, log, table].flatMap(({ broken }) => broken ?? []),
    /** Keys of this topic in Redis that belong to no generation. */
    strangeKeys: listed.found?.strange ?? [],
  }

  /** A topic that was folded must not be created anew: that would be another log. */
  function assertNeverFolded(error: unknown): never {
    const isMissing = error instanceof PreconditionError && error.fault === 'topic-missing'
    if (!isMissing || found.every((one) => one.found?.live.checkpoint === undefined)) throw error
    throw new PreconditionError(
      `topic ${topic} does not exist, but the read model was folded from it: correct KAFKA_BROKERS, or restore it: ` +
        RESTORE_RECIPE,
    )
  }

  async function readPart<T>(what: string, request: () => Promise<T>): Promise<{ found?: T; broken?: string }> {
    try {
      return { found: await attempt(request) }
    } catch (error) {
      if (error instanceof PreconditionError || error instanceof EntryError) return { broken: error.message }
      return { broken: `${what} cannot be read: ${reasonOf(error)}` }
    }
  }

  async function readPartition({ partition, live: name, filling, names }: PartitionGenerations) {
    const isFilling = filling !== '' && filling !== name
    for (const generation of isFilling ? [name, filling] : [name]) await assertTypes(partition, generation)
    const live = await generations.state(partition)
    const parkedReasons = live.parked === 0 ? new Map<number, number>() : await reasonsOf(partition, live.live)
    const sizes = await Promise.all(names.map((name) => generations.bytes(partition, name)))
    return {
      partition,
      /** False when Redis does not return its read model; all else but the end of the log is then unknown. */
      isRead: true,
      live,
      /** How many records of the live generation are parked for each reason, of those that were looked at. */
      parkedReasons,
      /** The generation that a rebuild fills, or was filling when it was interrupted. */
      filling: isFilling ? await generations.state(partition, filling) : undefined,
      /** Generations that are neither live nor being filled. */
      leftovers: names.filter((name) => name !== live.live && name !== filling),
      /** Memory of all generations in Redis. */
      bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    }
  }

  /** Redis does not say which key has another type than a command needs. */
  async function assertTypes(partition: Partition, generation: string): Promise<void> {
    for (const [key, type] of await generations.keyTypes(partition, generation)) {
      const expected = KEY_TYPES[key as keyof typeof KEY_TYPES]
      if (type === expected) continue
      throw new PreconditionError(
        `partition ${partition} of the read model cannot be read: its key ${key} is a ${type}, not a ${expected}: another ` +
          `program wrote it. Delete the keys {${topic}:${partition}}:*; a projector fills them again from the log`,
      )
    }
  }

  /** Looks at one batch, about 1,000 records, so that many parked records do not make the status slow. */
  async function reasonsOf(partition: Partition, generation: string): Promise<Map<number, number>> {
    const reasons = new Map<number, number>()
    for await (const batch of generations.parked(partition, generation)) {
      for (const [, reason] of batch) reasons.set(Number(reason), (reasons.get(Number(reason)) ?? 0) + 1)
      break
    }
    return reasons
  }
}

/** The types of the pointers and of the keys of a generation. */
export const KEY_TYPES = {
  ...{ live: 'string', filling: 'string' },
  ...{ meta: 'hash', plants: 'hash', order: 'list', parked: 'hash' },
}

/** Its figures are NaN, which is null in JSON. */
const unreadable = (partition: Partition) => ({
  ...{ partition, isRead: false, live: generationState([]), filling: undefined, bytes: Number.NaN },
  ...{ parkedReasons: new Map<number, number>(), leftovers: [] },
})
