import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createClock } from '../../../tests/simulation/clock.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import type { AppendResult, Refusal } from './append.ts'
import { AppendRefused } from './broker-errors.ts'
import { createLanes, LANE_LIMITS, type Written } from './lanes.ts'

const PARTITIONS = 4
const [P, Q, R, S] = [0, 1, 2, 3] as [Partition, Partition, Partition, Partition]
const LATE_MS = 500

const recordIn = (partition: Partition): NewRecord => ({ ...newEvent(1n, PARTITIONS), partition })
const refused = (why: 'records' | 'permanent' | 'transient'): Refusal => ({
  ...{ is: 'refused', why, cause: new AppendRefused(why) },
})
const notWritten = (message: string) => ({ is: 'notWritten', cause: expect.objectContaining({ message }) })
const unknown: AppendResult = { is: 'unknown', cause: new Error('lost') }
const appendedAt = (base: number): AppendResult => ({ is: 'appended', base: base as Offset })
const appended = (offset: number) => ({ is: 'appended', offset })

const afterCallbacks = () => new Promise<void>((resolve) => setImmediate(resolve))

type Request = {
  to: string
  batches: ReadonlyMap<Partition, readonly NewRecord[]>
  signal: AbortSignal | undefined
  answer(...results: readonly AppendResult[]): Promise<void>
}

/** Lanes whose requests wait until the test answers them. */
function openLanes(limits = LANE_LIMITS) {
  const clock = createClock()
  const leaders: (number | undefined)[] = [1, 1, 2, 2]
  const requests: Request[] = []
  const [frozen, quota, failures] = [new Set<number>(), { heldBackMs: 0 }, { count: 0 }]
  const lanes = createLanes({
    onFailure: () => void failures.count++,
    appender: {
      leaderOf: (partition) => leaders[partition],
      refreshLeaders: async () => {},
      responds: async (leader) => !frozen.has(leader),
      heldBackMs: (leader) => (leader === 1 ? quota.heldBackMs : 0),
      noLeader: () => refused('transient'),
      send(leader, channel, batches, signal) {
        const { promise, resolve } = Promise.withResolvers<Map<Partition, AppendResult>>()
        const partitions = [...batches.keys()]
        signal?.addEventListener('abort', () => resolve(new Map(partitions.map((each) => [each, unknown]))))
        requests.push({
          ...{ to: `${leader} ${channel}`, batches, signal },
          async answer(...results) {
            resolve(new Map(partitions.map((partition, n) => [partition, results[n] as AppendResult])))
            await afterCallbacks()
          },
        })
        return promise
      },
    },
    ...{ partitions: PARTITIONS, log: quietLog, limits },
    time: clock.timeOf({ name: 'api', alive: true, redis: { partitions: [] } as never }),
  })
  async function advance(ms: number): Promise<void> {
    clock.advance(ms)
    await afterCallbacks()
  }
  return {
    ...{ ...lanes, failures, frozen, quota, requests, leaders, advance },
    /** Starts to append a record of each of these partitions. */
    async appendTo(...partitions: Partition[]) {
      const appends = partitions.map((partition) => {
        const written: Written[] = []
        const append = lanes.append(recordIn(partition))
        void append.written.then((each) => written.push(each))
        return { ...append, result: () => written[0] }
      })
      await afterCallbacks()
      return appends
    },
    advanceToTimer: () => advance(clock.untilNext() ?? 0),
    last: () => requests.at(-1) as Request,
    /** The requests from the nth on: leader, lane, and the number of records in each partition. */
    sent: (from = 0) =>
      requests
        .slice(from)
        .map(({ to, batches }) =>
          [to, ...[...batches].map(([partition, { length }]) => `${'PQRS'[partition]}×${length}`)].join(' '),
        ),
  }
}

describe('lanes', () => {
  it('send what arrives together in one request to each leader, and what arrives meanwhile in the next one', async () => {
    const lanes = openLanes()
    const [first, second] = await lanes.appendTo(P, P, Q, R)
    await lanes.appendTo(Q)
    await lanes.advance(1)
    await lanes.appendTo(P)
    expect(lanes.sent()).toEqual(['1 healthy P×2 Q×1', '2 healthy R×1'])
    await lanes.requests[0]?.answer(appendedAt(7), appendedAt(0))
    expect([first?.result(), second?.result()]).toEqual([appended(7), appended(8)])
    expect(lanes.sent(2)).toEqual(['1 healthy Q×1 P×1'])
  })

  it('keep the order of a partition, in requests within the limits', async () => {
    const partitionsOfAppends = fc.array(fc.constantFrom(P, Q, R), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), partitionsOfAppends, async (most, partitions) => {
        const lanes = openLanes({ ...LANE_LIMITS, maxBatchRecords: most })
        const appends = await lanes.appendTo(...partitions)
        const ends = new Map<Partition, number>()
        for (const request of lanes.requests) {
          expect([...request.batches.values()].flat().length).toBeLessThanOrEqual(most)
          const bases = [...request.batches].map(([partition, { length }]) => {
            const base = ends.get(partition) ?? 0
            ends.set(partition, base + length)
            return appendedAt(base)
          })
          await request.answer(...bases)
        }
        const offsetOf = (partition: Partition, n: number) =>
          partitions.slice(0, n).filter((each) => each === partition).length
        expect(appends.map(({ result }) => result())).toEqual(partitions.map((each, n) => appended(offsetOf(each, n))))
      }),
    )
  })

  it('a partition whose attempt failed leaves the lane of the healthy ones until it succeeds', async () => {
    const lanes = openLanes()
    await lanes.appendTo(P, Q)
    await lanes.last().answer(refused('transient'), appendedAt(0))
    await lanes.appendTo(Q, P)
    await lanes.advance(100)
    expect(lanes.sent(1)).toEqual(['1 healthy Q×1', '1 suspect P×2'])
    await lanes.last().answer(appendedAt(0))
    await lanes.requests[1]?.answer(appendedAt(1))
    await lanes.appendTo(P, Q)
    expect(lanes.sent(3)).toEqual(['1 healthy P×1 Q×1'])
  })

  it('a request that waits for the replicas of one partition delays the others by half a second only', async () => {
    const lanes = openLanes()
    await lanes.appendTo(P)
    const [other] = await lanes.appendTo(Q, P)
    expect(lanes.sent()).toEqual(['1 healthy P×1'])
    await lanes.advance(LATE_MS)
    expect(lanes.sent(1)).toEqual(['1 suspect Q×1'])
    await lanes.last().answer(appendedAt(0))
    expect(other?.result()).toEqual(appended(0))
    await lanes.requests[0]?.answer(appendedAt(0))
    await lanes.last().answer(appendedAt(1))
    await lanes.appendTo(Q)
    expect(lanes.sent(2)).toEqual(['1 healthy P×1', '1 healthy Q×1'])
  })

  it('what arrives behind a request to a frozen leader is not sent to it', async () => {
    const lanes = openLanes()
    lanes.frozen.add(1)
    await lanes.appendTo(P)
    const [queued] = await lanes.appendTo(Q)
    await lanes.advance(10 * LATE_MS)
    expect(lanes.sent()).toEqual(['1 healthy P×1'])
    expect(queued?.giveUp()).toEqual({ is: 'notWritten' })
  })

  it('what arrives while a quota holds a leader back is not sent until then', async () => {
    const lanes = openLanes()
    await lanes.appendTo(P)
    lanes.quota.heldBackMs = 20_000
    await lanes.last().answer(appendedAt(0))
    const [queued] = await lanes.appendTo(P, Q, R)
    expect(lanes.sent(1)).toEqual(['2 healthy R×1'])
    expect(queued?.giveUp()).toEqual(notWritten(expect.stringMatching(/^a quota/)))
    lanes.quota.heldBackMs = 0
    await lanes.advance(20_000)
    expect(lanes.sent(2)).toEqual(['1 healthy Q×1'])
  })

  it('what is sent past a late request does not wait for the replicas of a suspect partition', async () => {
    const lanes = openLanes()
    for (const each of [R, S]) lanes.leaders[each] = 1
    await lanes.appendTo(P)
    await lanes.last().answer(unknown)
    await lanes.advance(50)
    await lanes.appendTo(Q)
    await lanes.advance(50)
    expect(lanes.sent(1)).toEqual(['1 healthy Q×1', '1 suspect P×1'])
    await lanes.advance(LATE_MS - 50)
    await lanes.last().answer(unknown)
    await lanes.appendTo(R)
    await lanes.appendTo(S)
    await lanes.advance(200)
    await lanes.last().answer(appendedAt(0))
    expect(lanes.sent(3)).toEqual(['1 suspect R×1', '1 suspect S×1'])
    await lanes.last().answer(appendedAt(0))
    expect(lanes.sent(5)).toEqual(['1 suspect P×1'])
  })

  it('a refused record is sent again without another one to wake its lane, by a timer that fires early', async () => {
    const lanes = openLanes()
    const [append] = await lanes.appendTo(P)
    for (const request of [1, 2, 3]) {
      await lanes.last().answer(refused('transient'))
      await lanes.advanceToTimer()
      expect(lanes.requests).toHaveLength(request + 1)
    }
    await lanes.last().answer(appendedAt(0))
    expect(append?.result()).toEqual(appended(0))
  })

  it('a refused batch is sent again record by record, and only the offending one fails', async () => {
    const lanes = openLanes()
    const appends = await lanes.appendTo(P, P, P)
    for (const result of [refused('records'), appendedAt(0), refused('records'), appendedAt(1)])
      await lanes.last().answer(result)
    expect(lanes.sent().map((text) => text.split(' ').at(-1))).toEqual(['P×3', 'P×1', 'P×1', 'P×1'])
    expect(appends.map(({ result }) => result())).toEqual([appended(0), notWritten('records'), appended(1)])
  })

  it('a request to a frozen broker is given up when its partition has another leader', async () => {
    const lanes = openLanes()
    const [append] = await lanes.appendTo(P)
    await lanes.advance(LATE_MS)
    expect(lanes.last().signal?.aborted).toBe(false)
    lanes.leaders[P] = 2
    await lanes.advance(LATE_MS)
    expect(lanes.last().signal?.aborted).toBe(true)
    await lanes.advance(100)
    expect(lanes.sent(1)).toEqual(['2 suspect P×1'])
    await lanes.last().answer(appendedAt(5))
    expect(append?.result()).toEqual(appended(5))
  })

  it('a late request to one leader ends no request to another one that was just sent', async () => {
    const lanes = openLanes()
    await lanes.appendTo(P)
    await lanes.advance(LATE_MS - 10)
    const [, healthy] = await lanes.appendTo(R, S)
    lanes.leaders[R] = 1
    await lanes.advance(10)
    expect(lanes.sent()).toEqual(['1 healthy P×1', '2 healthy R×1 S×1'])
    await lanes.last().answer(refused('transient'), appendedAt(0))
    expect(healthy?.result()).toEqual(appended(0))
  })

  it('records wait while their partition has no leader, and the reason is named', async () => {
    const lanes = openLanes()
    lanes.leaders[P] = undefined
    const [given] = await lanes.appendTo(P, P)
    await lanes.advance(10_001)
    expect(lanes.sent()).toEqual([])
    expect(lanes.problems()).toEqual(['partition 0: no append acknowledged for 10 s: transient'])
    expect([lanes.waitedMs(P), lanes.waitedMs(Q)]).toEqual([10_001, 0])
    const { count } = lanes.failures
    expect(count).toBeGreaterThan(1)
    // Others do not make it more attempts.
    await lanes.appendTo(Q)
    expect(lanes.failures.count).toBe(count)
    expect(given?.giveUp()).toEqual(notWritten('transient'))
    lanes.leaders[P] = 2
    await lanes.advance(1_000)
    expect(lanes.sent()).toEqual(['1 healthy Q×1', '2 healthy P×1'])
  })

  it('name the partitions that have had no acknowledgement for 10 s, with the reason, until one comes', async () => {
    const lanes = openLanes()
    await lanes.appendTo(P, Q, R)
    const cause = Object.assign(new Error('text of a library'), { type: 'REQUEST_TIMED_OUT' })
    await lanes.requests[0]?.answer(refused('transient'), refused('transient'))
    await lanes.requests[1]?.answer({ is: 'unknown', cause })
    await lanes.appendTo(S)
    await lanes.advance(10_000)
    expect(lanes.problems()).toEqual([])
    await lanes.advance(1)
    expect(lanes.problems()).toEqual([
      'partitions 0-1: no append acknowledged for 10 s: transient',
      expect.stringMatching(/^partition 2: .* for 10 s: Kafka has not finished .* \(REQUEST_TIMED_OUT\)/),
      'partition 3: no append acknowledged for 10 s: no response',
    ])
    for (const request of lanes.requests) await request.answer(appendedAt(0), appendedAt(0))
    expect(lanes.problems()).toEqual([])
  })

  it('name a partition that one client after the other cannot write, without the time in which no record waits', async () => {
    const lanes = openLanes()
    for (let n = 0; n < 3; n++) {
      const [append] = await lanes.appendTo(P)
      await lanes.last().answer(refused('transient'))
      await lanes.advance(5_000)
      append?.giveUp()
      await lanes.last().answer(refused('transient'))
    }
    const named = ['partition 0: no append acknowledged for 10 s: transient']
    expect(lanes.problems()).toEqual(named)
    await lanes.advance(10_000)
    expect(lanes.problems()).toEqual(named)
    await lanes.advance(1)
    expect(lanes.problems()).toEqual([])
    const appends = await lanes.appendTo(P, P)
    expect(lanes.problems()).toEqual([])
    await lanes.last().answer(refused('permanent'))
    expect(appends.map(({ result }) => result())).toEqual([notWritten('permanent'), notWritten('permanent')])
    await lanes.advance(10_000)
    expect(lanes.problems()).toEqual([])
  })
})
