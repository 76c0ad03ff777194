import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { expect, it } from 'vitest'
import { createClock } from '../../../../tests/simulation/clock.ts'
import { newPlant } from '../../../../tests/support/generated-plants.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { createClaimIndex, type OwnClaim } from './claim-index.ts'

const PARTITIONS = 2
const [P, Q] = [0 as Partition, 1 as Partition]
const REST_MS = 50
let lastId = 0n

function newClaim(partition: Partition): OwnClaim {
  const { id, name } = newPlant(++lastId)
  return { partition, claim: { id, eventId: randomUUID() as EventId, plant: { name } } }
}

function openClaimIndex() {
  const clock = createClock()
  const own = new Set<EventId>()
  const acknowledged: boolean[] = []
  const claimIndex = createClaimIndex({
    readModel: { meta: () => new Promise(() => {}) },
    log: quietLog,
    time: clock.timeOf({ name: 'api', alive: true, redis: { partitions: [] } as never }),
    checkpoints: Array(PARTITIONS).fill(BEFORE_LOG),
    ends: Array(PARTITIONS).fill(0),
    windowMaxBytes: 1_048_576,
    onAcknowledged: (isDecided) => acknowledged.push(isDecided),
    onHalt: (error) => expect.unreachable(error.message),
  })
  claimIndex.onFirstClaim((_partition, { eventId }) => own.has(eventId))
  function acknowledge(claims: readonly OwnClaim[], bases: [Partition, number][] | undefined): void {
    for (const { claim } of claims) own.add(claim.eventId)
    claimIndex.acknowledged(claims, bases && new Map(bases as [Partition, Offset][]))
  }
  /** Delivers this claim by the tail, at the next offset. */
  async function deliver({ partition, claim }: OwnClaim): Promise<void> {
    const { next } = claimIndex.window(partition)
    const delivered: Claim = { offset: next, ...claim }
    const checkpoint = { offset: next, eventId: claim.eventId }
    await claimIndex.sink.onRecords(partition, [{ offset: next, claim: delivered }], checkpoint, BEFORE_LOG)
  }
  return {
    ...claimIndex,
    acknowledged,
    acknowledge,
    deliver,
    advance: clock.advance,
    nexts: () => [P, Q].map((partition) => claimIndex.window(partition).next),
    /** Starts a rest of the tail; the result says whether it has ended. */
    async startRest() {
      const rest = { hasEnded: false }
      void claimIndex.sink.rest?.(P).then(() => {
        rest.hasEnded = true
      })
      await afterCallbacks()
      return rest
    },
  }
}

const afterCallbacks = () => new Promise<void>((resolve) => setImmediate(resolve))

it('an acknowledgement adds its claims where each partition continues', () => {
  const { acknowledge, acknowledged, nexts, window, passed } = openClaimIndex()
  const claims = [newClaim(P), newClaim(Q), newClaim(P)] as const
  const [first, , last] = claims
  acknowledge(claims, [
    [P, 0],
    [Q, 0],
  ])
  expect([nexts(), acknowledged]).toEqual([[2, 1], [true]])
  expect(window(P).firstClaim(first.claim.id)).toEqual({ offset: 0, ...first.claim })
  expect(passed(P)).toEqual({ offset: 1, eventId: last.claim.eventId })
})

it.each<[string, [Partition, number][] | undefined]>([
  ['no base offsets', undefined],
  ['a partition without a base offset', [[P, 0]]],
  [
    'a partition with records of others in between',
    [
      [P, 0],
      [Q, 1],
    ],
  ],
])('an acknowledgement with %s adds nothing, in no partition', (_what, bases) => {
  const { acknowledge, acknowledged, nexts } = openClaimIndex()
  acknowledge([newClaim(P), newClaim(Q)], bases)
  expect([nexts(), acknowledged]).toEqual([[0, 0], [false]])
})

it('an acknowledgement adds nothing where the tail was faster, and no part of what it has in part', async () => {
  const { acknowledge, acknowledged, deliver, nexts } = openClaimIndex()
  const [first, second] = [newClaim(P), newClaim(P)]
  await deliver(first)
  acknowledge([first, second], [[P, 0]])
  expect([nexts(), acknowledged]).toEqual([[1, 0], [false]])
  await deliver(second)
  acknowledge([first, second], [[P, 0]])
  expect([nexts(), acknowledged]).toEqual([
    [2, 0],
    [false, true],
  ])
})

it('the tail rests after records of its own', async () => {
  const { acknowledge, advance, startRest } = openClaimIndex()
  acknowledge([newClaim(P)], [[P, 0]])
  const [rest, sameRest] = [await startRest(), await startRest()]
  advance(REST_MS - 1)
  await afterCallbacks()
  expect([rest.hasEnded, sameRest.hasEnded]).toEqual([false, false])
  advance(1)
  await afterCallbacks()
  expect([rest.hasEnded, sameRest.hasEnded]).toEqual([true, true])
})

it.each<[string, (index: ReturnType<typeof openClaimIndex>) => void | Promise<void>]>([
  ['somebody needs it', ({ wakeTail }) => wakeTail()],
  ['an acknowledgement adds nothing', ({ acknowledge }) => acknowledge([newClaim(P)], [[P, 7]])],
  ['others write', ({ deliver }) => deliver(newClaim(Q))],
])('a rest of the tail ends, and none starts for as long, when %s', async (_what, wake) => {
  const index = openClaimIndex()
  const rest = await index.startRest()
  expect(rest.hasEnded).toBe(false)
  await wake(index)
  await afterCallbacks()
  expect(rest.hasEnded).toBe(true)
  expect((await index.startRest()).hasEnded).toBe(true)
  index.advance(REST_MS)
  expect((await index.startRest()).hasEnded).toBe(false)
})
