import { reasonOf } from '../event-log/broker-errors.ts'
import { createFollower } from '../event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '../event-log/groups.ts'
import { readKnownEnds, TABLE } from '../event-log/topic.ts'
import { undecodableText } from '../event-log/undecodable.ts'
import { type Row, type TableRecord, tableRecordReader } from '../plant/plant-stored.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../protocol/checkpoint.ts'
import { repeat } from '../runtime/retry.ts'
import { systemTime, within } from '../runtime/time.ts'
import { connectKafka } from './connect-kafka.ts'
import { checkTableOptions, type PlantTableOptions } from './options.ts'
import { consumerErrorOf } from './plant-consumer-error.ts'
import type { TablePlant } from './plant-record.ts'

/** A live copy of the table in memory. */
export type PlantTable = {
  readonly size: number
  get(id: bigint): TablePlant | undefined
  /** All plants, in no particular order. */
  [Symbol.iterator](): IterableIterator<TablePlant>
  /**
   * Resolves when the copy has everything that was in the table at the call; in a partition without a leader, when it
   * got one. Rejects as `ended`, and after `close`.
   */
  ready: Promise<void>
  /** The reasons why the copy does not follow the table; empty when it does. */
  problems(): string[]
  /** Ends the copy: it keeps its plants and follows the table no more. */
  close(): Promise<void>
  /** Resolves after `close`; rejects with a PlantConsumerError when the table cannot be followed any more. */
  ended: Promise<void>
}

const FETCH_LIMITS = { maxWaitTimeInMs: 500 }
const CHECK_LEADERS_EVERY_MS = 1_000
const WATCH_EVERY_MS = 10_000
/** A Kafka that hangs would hold the connections up for longer. */
const CLOSE_WITHIN_MS = 10_000
const REMEDY = 'the table was recreated, or this is another cluster: read it again from its beginning'

/**
 * Reads the table from its beginning into memory and follows it. Each process has its own copy of all partitions; about
 * 300 bytes for each plant. Resolves when Kafka has replied. Rejects with a PlantConsumerError.
 */
export async function plantTable(given: PlantTableOptions): Promise<PlantTable> {
  const options = checkTableOptions(given)
  const { table, log, onPlant } = options
  const { kafka, reply: first } = await connectKafka(options, (client) => readKnownEnds(client, table, TABLE.lost))
  const partitions = first.ends.length
  const plants = new Map<bigint, TablePlant>()
  const reached = new Map<Partition, Checkpoint>()
  /** The end of each partition that `ready` waits for; undefined while it had no leader. */
  const wanted: (Offset | undefined)[] = [...first.ends]
  const ready = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let ending: Promise<void> | undefined
  const groups = createThrowawayGroups(kafka, groupPrefix(table, 'replay'), log)

  async function put(partition: Partition, row: Row): Promise<void> {
    // A repeated row is the same plant.
    if (plants.has(row.id)) return
    const { id, eventId, offset } = row
    const plant = { id, ...row.plant, eventId, partition, offset }
    // If it fails, the row comes again.
    await onPlant?.(plant)
    plants.set(row.id, plant)
  }

  function resolveIfReady(): void {
    const next = (partition: number) => after((reached.get(partition as Partition) ?? BEFORE_LOG).offset)
    if (wanted.every((end, partition) => end !== undefined && next(partition) >= end)) ready.resolve()
  }

  const follower = createFollower<TableRecord>({
    ...{ kafka, topic: table, partitions, log, time: systemTime, remedy: REMEDY, topicId: first.topicId },
    ends: () => readKnownEnds(kafka, table, TABLE.lost),
    onEnds(ends) {
      for (const [partition, end] of ends.entries()) wanted[partition] ??= end
      resolveIfReady()
    },
    ...{ fetchLimits: FETCH_LIMITS, haltsWhenRefused: true, groupId: groups.groupId },
    read: tableRecordReader(partitions),
    checkpointOf: async (partition) => reached.get(partition) ?? BEFORE_LOG,
    async onRecords(partition, records, next, from) {
      const unread = records.filter(({ row }) => row === undefined)
      const details = { partition, offset: unread[0]?.offset, records: unread.length }
      if (unread.length > 0)
        log.warn(details, 'records of the table cannot be read: another program or a newer release wrote them')
      for (const { row } of records) {
        if (ending !== undefined) return from
        if (row !== undefined) await put(partition, row)
      }
      reached.set(partition, next)
      resolveIfReady()
      return next
    },
    onHalt: (error) => void end(error),
  })

  const repeatOptions = {
    ...{ time: systemTime, log, onHalt: (error: Error) => void end(error) },
    reasonOf: (error: unknown) => reasonOf(error, { topic: table }),
  }
  const findLeaders = async () => wanted.includes(undefined) && follower.ends()
  const repeated = [
    repeat({ ...repeatOptions, everyMs: CHECK_LEADERS_EVERY_MS, task: findLeaders, what: 'checking the leaders' }),
    repeat({ ...repeatOptions, everyMs: WATCH_EVERY_MS, task: follower.ends, what: 'checking the table' }),
  ]

  /** By `close`, or when the table cannot be followed. */
  function end(error?: Error): Promise<void> {
    ending ??= endOnce(error)
    return ending
  }

  async function endOnce(error: Error | undefined): Promise<void> {
    await within(
      CLOSE_WITHIN_MS,
      Promise.all([follower.close(), ...repeated.map(({ close }) => close())]).then(() => groups.deleteAll()),
    )
    const reason = error === undefined ? undefined : consumerErrorOf(error, 'unexpected')
    ready.reject(reason ?? new Error('the copy was closed before it was ready'))
    if (reason === undefined) ended.resolve()
    else ended.reject(reason)
  }

  resolveIfReady()
  // A caller that awaits the promise sees the rejection; if no caller does, it must not end the process.
  for (const { promise } of [ready, ended]) promise.catch(() => {})
  follower.start()
  return {
    get size() {
      return plants.size
    },
    get: (id) => plants.get(id),
    [Symbol.iterator]: () => plants.values(),
    ready: ready.promise,
    problems: () => [
      ...follower.problems(),
      ...follower.undecodable().map(undecodableText),
      ...repeated.flatMap(({ problems }) => problems()),
    ],
    close: () => end(),
    ended: ended.promise,
  }
}
