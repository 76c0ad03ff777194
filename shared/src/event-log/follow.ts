import { setTimeout as delay } from 'node:timers/promises'
import type { Consumer, ConsumerStartBatchProcessEvent, EachBatchPayload, Kafka } from 'kafkajs'
import { after, BEFORE_FIRST, type Offset, offsetOf, type Partition } from '../plant/offset.ts'
import { type LogRecord, readRecord } from '../plant/plant-created.ts'
import { PreconditionError } from '../process/failures.ts'
import type { Log } from '../process/log.ts'
import { admit, type Checkpoint, type Delivery, outOfBounds, seekOffset } from '../protocol/checkpoint.ts'
import { checkTopic, type TopicSettings } from './topic.ts'

export type FollowOptions = TopicSettings & {
  kafka: Kafka
  log: Log
  /**
   * The group to join, asked for each time a consumer begins. Members of one group share the partitions; a group
   * that nobody else is in gives them all, at once if it is a new one: another would first wait for the session
   * of the consumer before to run out.
   */
  groupId(): string
  /** Kafka answers a fetch when so many bytes are there, or after the wait. */
  minBytes: number
  maxWaitMs: number
  /** Where to go on; asked at each assignment of a partition and at each `reseek`. */
  checkpointOf(partition: Partition): Promise<Checkpoint>
  /**
   * Takes in the records between two checkpoints and tells the one then reached: `next`, or another to
   * seek to. One call at a time for each partition. When it rejects, it is called again.
   */
  onRecords(
    partition: Partition,
    records: LogRecord[],
    next: Checkpoint,
    from: Checkpoint,
  ): Promise<Checkpoint>
  /** Called once, when following can't go on. */
  onHalt(error: Error): void
}

/**
 * Where a partition stands; `checkpoint` is undefined while it is being asked for. It is `proven` once the log
 * was seen to hold the event that the checkpoint names.
 */
type Position = { checkpoint: Checkpoint | undefined; proven: boolean; turn: Promise<void> }
type Batch = EachBatchPayload['batch'] & { fetchedOffset: string }
type BatchTold = ConsumerStartBatchProcessEvent['payload']

const SESSION_TIMEOUT_MS = 6_000
const HEARTBEAT_MS = 2_000
/** How long the group waits for members to join again; without a limit of its own a close may wait a minute. */
const REBALANCE_TIMEOUT_MS = 10_000
const MAX_BYTES_PER_PARTITION = 1_048_576
const RETRY_MS = 250
const RESTART_MS = 250

export type Follower = ReturnType<typeof createFollower>

/**
 * Follows the committed records of a topic. kafkajs has no assign(): it joins a group, and where the
 * group thinks it stands means nothing here. Each assignment is sought to the caller's checkpoint, and
 * each delivery is judged against it by `admit`, so that nothing is skipped, taken twice, or taken from
 * another log.
 */
export function createFollower(options: FollowOptions) {
  const { kafka, topic, partitions, log, onRecords, onHalt } = options
  const closing = new AbortController()
  const positions = new Map<Partition, Position>()
  let consumer: Consumer
  let running: Promise<void> | undefined
  let joined = false
  const allProven = Promise.withResolvers<void>()
  const committed = new Map<Partition, Offset>()

  function halt(reason: string, partition: Partition): void {
    fail(new PreconditionError(`${reason} (partition ${partition})`))
  }

  const pause = (ms: number) => delay(ms, undefined, { signal: closing.signal }).catch(() => {})

  /** Runs `step` after all that was begun for this partition. */
  function inTurn(position: Position, step: () => Promise<void>): Promise<void> {
    position.turn = position.turn.then(step).catch(fail)
    return position.turn
  }

  function fail(error: unknown): void {
    if (closing.signal.aborted) return
    closing.abort()
    onHalt(error instanceof Error ? error : new Error(String(error)))
  }

  function seek(partition: Partition, offset: Offset): void {
    try {
      consumer.seek({ topic, partition, offset: String(offset) })
    } catch {
      // Between two runs of the consumer there is nothing to seek; the next assignment seeks.
    }
  }

  /**
   * Seeks partitions to their checkpoints, as soon as these can be told. The log's ends are asked for
   * after them, or a checkpoint that moved meanwhile would seem to lie beyond the end.
   */
  async function locate(located: ReadonlyMap<Partition, Position>): Promise<void> {
    const current = () => [...located].every(([partition, position]) => positions.get(partition) === position)
    while (!closing.signal.aborted && current()) {
      try {
        const checkpoints = await Promise.all(
          [...located.keys()].map((partition) => options.checkpointOf(partition)),
        )
        const { ends } = await checkTopic(kafka, { topic, partitions })
        for (const [index, [partition, position]] of [...located].entries()) {
          const checkpoint = checkpoints[index] as Checkpoint
          const bounds = outOfBounds(checkpoint, ends[partition] as Offset)
          if (bounds !== undefined) return halt(bounds, partition)
          position.checkpoint = checkpoint
          position.proven = checkpoint.eventId === ''
          seek(partition, seekOffset(checkpoint))
        }
        return noteProof()
      } catch (error) {
        if (error instanceof PreconditionError) return fail(error)
        log.warn({ err: error }, 'can not tell where to follow the log from; trying again')
        await pause(RETRY_MS)
      }
    }
  }

  function noteProof(): void {
    if (joined && [...positions.values()].every(({ proven }) => proven)) allProven.resolve()
  }

  function assign(assigned: readonly number[]): void {
    positions.clear()
    const unknown = assigned.find((partition) => partition >= partitions) as Partition | undefined
    if (unknown !== undefined) halt(`topic ${topic} grew beyond ${partitions} partitions`, unknown)
    for (const partition of assigned as Partition[]) {
      positions.set(partition, { checkpoint: undefined, proven: false, turn: Promise.resolve() })
    }
    joined = true
    const located = locate(new Map(positions)).catch(fail)
    for (const position of positions.values()) position.turn = located
  }

  async function take(partition: Partition, position: Position, delivery: Delivery): Promise<void> {
    const { checkpoint } = position
    if (checkpoint === undefined || positions.get(partition) !== position) return
    // What lies beyond the checkpoint does not show which event the log holds there.
    if (!position.proven && delivery.askedFor > checkpoint.offset)
      return seek(partition, seekOffset(checkpoint))
    const admission = admit(checkpoint, delivery)
    if (admission.do === 'halt') return halt(admission.reason, partition)
    if (admission.do === 'seek') return seek(partition, seekOffset(checkpoint))
    if (!position.proven && delivery.last >= checkpoint.offset) {
      position.proven = true
      noteProof()
    }
    await pass(partition, position, admission.records, admission.checkpoint)
  }

  function deliveryOf(batch: Batch, partition: Partition): Delivery {
    return {
      askedFor: offsetOf(batch.fetchedOffset),
      last: offsetOf(batch.lastOffset()),
      end: offsetOf(batch.highWatermark),
      records: batch.messages.map(({ offset, key, value, headers = {} }) =>
        readRecord({ offset: offsetOf(offset), key, value, headers }, partition, partitions),
      ),
    }
  }

  async function pass(
    partition: Partition,
    position: Position,
    records: LogRecord[],
    next: Checkpoint,
  ): Promise<void> {
    const from = position.checkpoint
    if (from === undefined) return
    try {
      const reached = await onRecords(partition, records, next, from)
      // Unless it is being asked for again meanwhile.
      if (position.checkpoint === from) position.checkpoint = reached
      if (reached.offset !== next.offset) seek(partition, seekOffset(reached))
    } catch (error) {
      if (error instanceof PreconditionError) return fail(error)
      log.warn({ err: error, partition, offset: next.offset }, 'records were not taken in; trying again')
      await pause(RETRY_MS)
      seek(partition, seekOffset(from))
    }
  }

  /** kafkajs passes batches of nothing but control and aborted records by itself, and tells only so. */
  function takeNoRecords(payload: BatchTold): void {
    const partition = payload.partition as Partition
    const position = positions.get(partition)
    if (position === undefined || payload.firstOffset === null) return
    const askedFor = offsetOf(payload.firstOffset)
    const last = offsetOf(payload.lastOffset)
    const end = offsetOf(payload.highWatermark)
    void inTurn(position, () => take(partition, position, { askedFor, last, end, records: [] }))
  }

  async function eachBatch({ batch, resolveOffset, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const partition = batch.partition as Partition
    const position = positions.get(partition)
    if (position === undefined) return
    if (position.checkpoint === undefined) {
      // Not told yet where to begin: what came is fetched again, and the heartbeats go on meanwhile.
      await Promise.race([position.turn, pause(RETRY_MS)])
      return
    }
    await inTurn(position, async () => {
      if (isRunning() && !isStale()) await take(partition, position, deliveryOf(batch as Batch, partition))
    })
    const last = offsetOf(batch.lastOffset())
    const reached: Checkpoint | undefined = position.checkpoint
    if (positions.get(partition) === position && reached !== undefined && reached.offset >= last) {
      resolveOffset(String(last))
    }
  }

  /** One life of a consumer, from connecting to a crash. */
  async function live(): Promise<void> {
    consumer = kafka.consumer({
      groupId: options.groupId(),
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      minBytes: options.minBytes,
      maxWaitTimeInMs: options.maxWaitMs,
      maxBytesPerPartition: MAX_BYTES_PER_PARTITION,
      allowAutoTopicCreation: false,
      readUncommitted: false,
      // What crashed begins anew below, not by itself.
      retry: { restartOnFailure: async () => false },
    })
    const { GROUP_JOIN, START_BATCH_PROCESS, CRASH } = consumer.events
    const ended = new Promise<void>((resolve) => {
      closing.signal.addEventListener('abort', () => resolve(), { once: true })
      consumer.on(CRASH, ({ payload }) => {
        joined = false
        log.warn({ err: payload.error }, 'the consumer crashed; another one begins')
        resolve()
      })
    })
    consumer.on(GROUP_JOIN, ({ payload }) => assign(payload.memberAssignment[topic] ?? []))
    consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize === 0) takeNoRecords(payload)
    })
    try {
      await consumer.connect()
      // Always from the beginning: the other choice turns an offset out of range, silently, into the log's end.
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: partitions,
        eachBatch,
      })
      await ended
    } finally {
      joined = false
      positions.clear()
      await consumer.disconnect().catch(() => {})
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await live().catch((err: unknown) => log.warn({ err }, 'the log can not be followed; trying again'))
      await pause(RESTART_MS)
    }
  }

  return {
    start(): void {
      running ??= run()
    },

    /** The partitions that this process follows now with their checkpoints; undefined before the group is joined. */
    assigned(): Map<Partition, Checkpoint | undefined> | undefined {
      return joined
        ? new Map([...positions].map(([partition, { checkpoint }]) => [partition, checkpoint]))
        : undefined
    },

    /** Resolves when each partition was seen to hold the event that its first checkpoint names: it is the right log. */
    proven: allProven.promise,

    /** Asks for the checkpoints of these partitions again and goes on from there, save those that moved on from what was seen. */
    reseek(seen: ReadonlyMap<Partition, Checkpoint>): void {
      const moved = new Map(
        [...positions].filter(
          ([partition, { checkpoint }]) => checkpoint !== undefined && checkpoint === seen.get(partition),
        ),
      )
      if (moved.size === 0) return
      const turns = [...moved.values()].map(({ turn }) => turn)
      const located = Promise.all(turns)
        .then(() => locate(moved))
        .catch(fail)
      for (const position of moved.values()) Object.assign(position, { checkpoint: undefined, turn: located })
    },

    /** Tells the group how far each partition was read, if that changed. For lag tools only: nothing here reads it back. */
    async commitForLagTools(): Promise<void> {
      const passed = [...positions].flatMap(([partition, { checkpoint }]) =>
        checkpoint === undefined || checkpoint.offset <= (committed.get(partition) ?? BEFORE_FIRST)
          ? []
          : [{ partition, offset: checkpoint.offset }],
      )
      if (!joined || passed.length === 0) return
      await consumer.commitOffsets(
        passed.map(({ partition, offset }) => ({ topic, partition, offset: String(after(offset)) })),
      )
      for (const { partition, offset } of passed) committed.set(partition, offset)
    },

    async close(): Promise<void> {
      closing.abort()
      await running
    },
  }
}
