import type { Channel } from '../kafka-client/leader-producer.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '../plant/position.ts'
import { formatPartitions } from '../runtime/format.ts'
import type { Log } from '../runtime/log.ts'
import { createBackOff } from '../runtime/retry.ts'
import { delay, type Time } from '../runtime/time.ts'
import { type Appender, type AppendResult, bytesOf, MAX_APPEND_BYTES } from './append.ts'
import { AppendRefused, reasonOf } from './broker-errors.ts'
import { RAISE_APPEND_QUOTA } from './throttling.ts'

export const LANE_LIMITS = { maxBatchRecords: 2_000, maxBatchBytes: MAX_APPEND_BYTES }
const RETRY = { firstMs: 100, longestMs: 1_000 }
/** After this time without a response, and then as often as this, the leaders are requested. */
const LATE_MS = 500
/** A change of leaders takes less. */
const NOT_ACKNOWLEDGED_MAX_MS = 10_000
const HELD_BACK = new AppendRefused(`a quota of Kafka holds appends back: ${RAISE_APPEND_QUOTA}`)

/** The end of an append. `notWritten`: no attempt reached the log. `unknown`: an attempt may be in the log. */
export type Written =
  | { is: 'appended'; offset: Offset | undefined }
  | { is: 'notWritten'; cause?: AppendRefused | undefined }
  | { is: 'unknown' }

export type Append = {
  /**
   * Resolves when all in-sync replicas have the record, or when Kafka refuses it and no further attempt can succeed.
   * While attempts fail otherwise, it does not resolve.
   */
  written: Promise<Written>
  /** Ends the attempts. Returns what is known now. */
  giveUp(): Written
}

export type LaneOptions = {
  appender: Pick<Appender, 'leaderOf' | 'noLeader' | 'refreshLeaders' | 'responds' | 'send' | 'heldBackMs'>
  partitions: number
  time: Time
  log: Log
  limits?: typeof LANE_LIMITS
  /** Called for each attempt of a partition that is not acknowledged, and for each wait for leaders. */
  onFailure?(): void
}

export type Lanes = ReturnType<typeof createLanes>

type Entry = ReturnType<typeof createEntry>

const createEntry = (record: NewRecord, resolve: (written: Written) => void, queuedAt: number) => ({
  record,
  resolve,
  queuedAt,
  isGivenUp: false,
  /** Sent alone: Kafka has refused a batch that this record was in. */
  isAlone: false,
  isInFlight: false,
  /** An attempt has succeeded, or has ended without an outcome. */
  mayBeWritten: false,
  /** The refusal of the last attempt. */
  refusal: undefined as AppendRefused | undefined,
})

type PartitionQueue = ReturnType<typeof createQueue>

const createQueue = (partition: Partition) => ({
  partition,
  entries: [] as Entry[],
  isInFlight: false,
  /** The last attempt has failed. */
  isSuspect: false,
  /** No attempt starts. Ended by a timer alone: it may fire before the clock has reached its time. */
  isBackingOff: false,
  backOff: createBackOff(RETRY),
  /** Start of the first attempt since the last acknowledgement. */
  unacknowledgedSince: undefined as number | undefined,
  /** The failure of the last attempt, and when it was noted. */
  failure: undefined as Error | undefined,
  failedAt: Number.NEGATIVE_INFINITY,
})

type Failed = Exclude<AppendResult, { is: 'appended' }>
type Batches = ReadonlyMap<PartitionQueue, readonly Entry[]>
/** `isPassed`: the second lane takes what arrives for the other partitions of the leader. */
type Request = { batches: Batches; isPassed: boolean; superseded: AbortController }
type Lane = { leader: number; channel: Channel; request: Request | undefined; isHeldBack: boolean }

/**
 * Appends records one by one. Records that arrive while a request is in flight share the next one. Each leader has two
 * lanes, each with a connection and at most one request in flight: one lane for the partitions whose last attempt
 * succeeded, one for the others. So a frozen leader, an unwritable partition or a refused record delays only the
 * partitions concerned. A leader responds when the replicas of all partitions of a request have its records: while a
 * request of the first lane is late, and the leader responds otherwise, the second lane takes what arrives for other
 * partitions, in separate requests. Behind a frozen leader records remain certainly not written.
 *
 * A failed attempt is repeated until the append is given up. If the attempt did reach the log, the log has the record
 * twice, with the same event id: one creation.
 */
export function createLanes(options: LaneOptions) {
  const { appender, partitions, time, log, limits = LANE_LIMITS } = options
  const queues = allPartitions(partitions).map(createQueue)
  const lanes = new Map<string, Lane>()
  const leaderRetries = createBackOff(RETRY)
  const closing = new AbortController()
  /** Resolved by the end of the next request. */
  let ended = Promise.withResolvers<void>()
  let isDispatchDue = false
  let isWaitingForLeaders = false

  /** A microtask later, so that records which arrive together share a request. */
  function dispatchSoon(): void {
    if (isDispatchDue) return
    isDispatchDue = true
    queueMicrotask(() => {
      isDispatchDue = false
      dispatch()
    })
  }

  /** Starts a request in each free lane that has records. */
  function dispatch(): void {
    const due = new Map<Lane, PartitionQueue[]>()
    for (const queue of queues) {
      if (queue.entries.length === 0 || queue.isInFlight || queue.isBackingOff) continue
      dropGivenUp(queue)
      if (queue.entries.length === 0) continue
      const lane = laneOf(queue)
      if (lane === undefined) waitForLeader(queue)
      else if (lane.request === undefined && !lane.isHeldBack) due.set(lane, [...(due.get(lane) ?? []), queue])
    }
    for (const [lane, inLane] of due) {
      const healthy = inLane.filter(({ isSuspect }) => !isSuspect)
      void send(lane, healthy.length > 0 ? healthy : inLane)
    }
  }

  function dropGivenUp(queue: PartitionQueue): void {
    if (queue.entries.some(({ isGivenUp }) => isGivenUp))
      queue.entries = queue.entries.filter(({ isGivenUp }) => !isGivenUp)
  }

  function laneOf({ partition, isSuspect }: PartitionQueue): Lane | undefined {
    const leader = appender.leaderOf(partition)
    if (leader === undefined) return undefined
    const healthy = lane(leader, 'healthy')
    return isSuspect || healthy.request?.isPassed ? lane(leader, 'suspect') : healthy
  }

  function lane(leader: number, channel: Channel): Lane {
    const key = `${leader} ${channel}`
    const known = lanes.get(key) ?? { leader, channel, request: undefined, isHeldBack: false }
    lanes.set(key, known)
    return known
  }

  function waitForLeader(queue: PartitionQueue): void {
    queue.unacknowledgedSince ??= time.now()
    noteFailure(queue, queue.entries.length, appender.noLeader())
    void waitForLeaders()
  }

  async function waitForLeaders(): Promise<void> {
    if (isWaitingForLeaders) return
    isWaitingForLeaders = true
    options.onFailure?.()
    await appender.refreshLeaders()
    await delay(time, leaderRetries.nextMs(), closing.signal)
    isWaitingForLeaders = false
    dispatchSoon()
  }

  /** Takes the records of the next request, oldest partition first, so that a full request omits none for long. */
  function takeBatches(inLane: PartitionQueue[]): Map<PartitionQueue, Entry[]> {
    const batches = new Map<PartitionQueue, Entry[]>()
    let records = 0
    let bytes = 0
    for (const queue of inLane.sort((a, b) => queuedAtOf(a) - queuedAtOf(b))) {
      let count = 0
      for (const { record, isAlone } of queue.entries) {
        if (records === limits.maxBatchRecords || bytes >= limits.maxBatchBytes || (isAlone && count > 0)) break
        records++
        count++
        bytes += bytesOf(record)
        if (isAlone) break
      }
      if (count > 0) batches.set(queue, queue.entries.splice(0, count))
    }
    return batches
  }

  async function send(lane: Lane, inLane: PartitionQueue[]): Promise<void> {
    const batches = takeBatches(inLane)
    const request = { batches, isPassed: false, superseded: new AbortController() }
    lane.request = request
    for (const [queue, sent] of batches) {
      queue.isInFlight = true
      queue.unacknowledgedSince ??= time.now()
      for (const entry of sent) entry.isInFlight = true
    }
    const results = await sendWhileLed(lane, request)
    lane.request = undefined
    ended.resolve()
    ended = Promise.withResolvers()
    for (const [queue, sent] of batches) {
      queue.isInFlight = false
      settle(queue, sent, results.get(queue.partition) as AppendResult)
    }
    // What waits here, instead of in kafkajs, is certainly not written, and not sent when it was given up.
    const heldBackMs = appender.heldBackMs(lane.leader, lane.channel)
    lane.isHeldBack = heldBackMs > 0
    dispatch()
    if (!lane.isHeldBack) return
    await delay(time, heldBackMs, closing.signal)
    lane.isHeldBack = false
    dispatchSoon()
  }

  async function sendWhileLed({ leader, channel }: Lane, request: Request): Promise<Map<Partition, AppendResult>> {
    const batches = [...request.batches]
    const records = new Map(batches.map(([{ partition }, sent]) => [partition, sent.map(({ record }) => record)]))
    let cancel = time.after(LATE_MS, () => {
      if (channel === 'healthy') void pass(leader, request)
      watch()
    })
    function watch(): void {
      cancel = time.after(LATE_MS, watch)
      void appender.refreshLeaders().then(() => giveUpSuperseded(leader))
    }
    const results = await appender.send(leader, channel, records, request.superseded.signal)
    cancel()
    return results
  }

  async function pass(leader: number, request: Request): Promise<void> {
    request.isPassed = await appender.responds(leader, 'suspect')
    dispatchSoon()
  }

  /** Gives each request to this leader up that has a partition with another one now: this one may be frozen. */
  function giveUpSuperseded(leader: number): void {
    for (const { request } of lanes.values().filter((lane) => lane.leader === leader)) {
      const asked = [...(request?.batches.keys() ?? [])]
      const isLed = asked.every(({ partition }) => (appender.leaderOf(partition) ?? leader) === leader)
      if (!isLed) request?.superseded.abort()
    }
  }

  function settle(queue: PartitionQueue, sent: readonly Entry[], result: AppendResult): void {
    for (const entry of sent) entry.isInFlight = false
    if (result.is === 'appended') {
      acknowledge(queue, sent, result.base)
      return
    }
    queue.isSuspect = true
    options.onFailure?.()
    noteFailure(queue, sent.length, result)
    const left = sent.filter((entry) => !isRefusedForGood(entry, result, sent.length === 1))
    queue.entries.unshift(...left)
    if (left.length === 0) return
    if (result.is === 'refused' && result.why === 'records' && sent.length > 1) {
      for (const entry of left) entry.isAlone = true
      return
    }
    queue.isBackingOff = true
    void appender.refreshLeaders()
    void delay(time, queue.backOff.nextMs(), closing.signal).then(() => {
      queue.isBackingOff = false
      dispatchSoon()
    })
  }

  function acknowledge(queue: PartitionQueue, sent: readonly Entry[], base: Offset | undefined): void {
    Object.assign(queue, { isSuspect: false, unacknowledgedSince: undefined, failure: undefined })
    queue.backOff.reset()
    leaderRetries.reset()
    for (const [n, entry] of sent.entries()) {
      entry.mayBeWritten = true
      entry.resolve({ is: 'appended', offset: base === undefined ? undefined : ((base + n) as Offset) })
    }
  }

  /** True if no further attempt can succeed. A refusal after an attempt without an outcome does not say so. */
  function isRefusedForGood(entry: Entry, result: Failed, wasAlone: boolean): boolean {
    if (result.is === 'unknown') {
      entry.mayBeWritten = true
      return false
    }
    entry.refusal = result.cause
    const isForGood = result.why === 'permanent' || (result.why === 'records' && wasAlone)
    if (!isForGood || entry.mayBeWritten) return false
    entry.resolve({ is: 'notWritten', cause: result.cause })
    return true
  }

  /** Logs one line for all attempts that fail for the same reason. */
  function noteFailure(queue: PartitionQueue, records: number, { is, cause }: Failed): void {
    const { partition, failure } = queue
    Object.assign(queue, { failure: cause, failedAt: time.now() })
    if (failure?.message === cause.message) return
    const context = { err: cause, partition, records }
    if (is === 'refused') log.warn(context, `an append was refused; nothing was written: ${cause.message}`)
    else log.warn(context, 'an append was not acknowledged; trying again')
  }

  function isWaiting({ entries, isInFlight }: PartitionQueue): boolean {
    return isInFlight || entries.some(({ isGivenUp }) => !isGivenUp)
  }

  /** One client after the other may try for less than the time of a notice. */
  function isIdle(queue: PartitionQueue): boolean {
    return !isWaiting(queue) && time.now() - queue.failedAt > NOT_ACKNOWLEDGED_MAX_MS
  }

  function queuedAtOf({ entries: [oldest] }: PartitionQueue): number {
    return oldest?.queuedAt ?? time.now()
  }

  return {
    append(record: NewRecord): Append {
      const { promise, resolve } = Promise.withResolvers<Written>()
      const entry = createEntry(record, resolve, time.now())
      const queue = queues[record.partition] as PartitionQueue
      if (isIdle(queue)) queue.unacknowledgedSince = undefined
      queue.entries.push(entry)
      dispatchSoon()
      return {
        written: promise,
        giveUp() {
          entry.isGivenUp = true
          if (entry.isInFlight || entry.mayBeWritten) return { is: 'unknown' }
          const lane = laneOf(queue)
          const reason = lane === undefined ? appender.noLeader().cause : lane.isHeldBack ? HELD_BACK : undefined
          return { is: 'notWritten', cause: entry.refusal ?? reason }
        },
      }
    },

    /** Resolves when a request ends; at once while none is in flight. */
    requestEnded(): Promise<void> {
      return lanes.values().some(({ request }) => request !== undefined) ? ended.promise : Promise.resolve()
    },

    /** The time that the oldest record of a partition has waited for its next attempt, in ms; 0 without one. */
    waitedMs(partition: Partition): number {
      const oldest = queues[partition]?.entries.find(({ isGivenUp }) => !isGivenUp)
      return oldest === undefined ? 0 : time.now() - oldest.queuedAt
    },

    /** The partitions without an acknowledgement for 10 s although records wait or were refused, with the reason. */
    problems(): string[] {
      const stuck = queues.filter((queue) => {
        const triedUntil = isWaiting(queue) ? time.now() : queue.failedAt
        return !isIdle(queue) && triedUntil - (queue.unacknowledgedSince ?? triedUntil) > NOT_ACKNOWLEDGED_MAX_MS
      })
      // A leader that has responded with an error code: it waits for its replicas, for example.
      const isResponse = (failure: Error | undefined) => failure !== undefined && 'type' in failure
      const reasons = Map.groupBy(stuck, ({ failure }) =>
        failure instanceof AppendRefused || isResponse(failure) ? reasonOf(failure) : 'no response',
      )
      return [...reasons].map(
        ([reason, found]) =>
          `${formatPartitions(found.map(({ partition }) => partition))}: no append acknowledged for 10 s: ${reason}`,
      )
    },

    /** Resolves when no request is in flight. Give up every append before. */
    async close(): Promise<void> {
      closing.abort()
      while (lanes.values().some(({ request }) => request !== undefined)) await delay(time, RETRY.firstMs)
    },
  }
}
